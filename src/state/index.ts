/** State: sealing and opening `requestState` (C1 to C21). */
export {
  type Binding,
  bindingDigest,
  digestParams,
  MAX_PARAMS_DEPTH,
  type Principal,
  principalText,
} from "./binding.ts";
export { type Box, createBox } from "./box.ts";
export {
  createKeyRing,
  type DerivedKey,
  generateKey,
  type KeyRing,
  type KeyRingOptions,
  keysIn,
  type StateWarning,
} from "./keys.ts";
export { DEFAULT_STATE_LIMITS, type StateLimits } from "./limits.ts";
export { pooledRandom, type RandomBytes } from "./random.ts";
export {
  createSealer,
  type Opened,
  type Sealer,
  type SealerOptions,
  type SealTimes,
  type StateRefusal,
} from "./token.ts";
export { XAES_NONCE_BYTES, type XaesKey, xaesKey, xaesOpen, xaesSeal } from "./xaes.ts";
