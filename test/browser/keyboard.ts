/** A person without a mouse: everything goes through the keyboard. */
import type { Page } from "playwright-core";

/** Tabs on until the focus is on what `selector` matches. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 200; presses += 1) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`The keyboard never gets to ${selector}`);
}

export async function type(page: Page, selector: string, text: string): Promise<void> {
  await tabTo(page, selector);
  await page.keyboard.type(text);
}

/** Goes to a group of radio buttons and takes the one at `index`, as arrows do. */
export async function pick(page: Page, group: string, index: number): Promise<void> {
  await tabTo(page, `${group} input[type=radio]`);
  await page.keyboard.press("Space");
  for (let step = 0; step < index; step += 1) await page.keyboard.press("ArrowDown");
}

export async function tick(page: Page, selector: string): Promise<void> {
  await tabTo(page, selector);
  await page.keyboard.press("Space");
}
