import type { StandardSchemaV1, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type { FormContent, FormSchema } from "../types.ts";

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** A form schema as an author writes it: the wire's own shape, mutable or `as const`. */
export type WireForm = DeepReadonly<FormSchema>;

/** What a form can be made of. Valibot needs its `toStandardJsonSchema`. */
export type FormSource = StandardSchemaWithJSON | WireForm;

/** The type of an accepted answer to a form: a Standard Schema's output, or what a wire schema's literal type says. */
export type FormValue<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends { readonly properties: infer P }
    ? string extends keyof P
      ? FormContent
      : WireValue<P, RequiredName<S>>
    : FormContent;

type RequiredName<S> = S extends { readonly required: readonly (infer N)[] } ? (string extends N ? never : N) : never;
type WireValue<P, N> = Flat<
  { -readonly [K in keyof P as K extends N ? K : never]: PropertyValue<P[K]> } & {
    -readonly [K in keyof P as K extends N ? never : K]?: PropertyValue<P[K]>;
  }
>;
type Flat<T> = { [K in keyof T]: T[K] };

type PropertyValue<P> = P extends { readonly enum: readonly (infer V)[] }
  ? V
  : P extends { readonly oneOf: readonly { readonly const: infer V }[] }
    ? V
    : P extends { readonly items: { readonly enum: readonly (infer V)[] } }
      ? V[]
      : P extends { readonly items: { readonly anyOf: readonly { readonly const: infer V }[] } }
        ? V[]
        : P extends { readonly type: "string" }
          ? string
          : P extends { readonly type: "number" | "integer" }
            ? number
            : P extends { readonly type: "boolean" }
              ? boolean
              : FormContent[string];
