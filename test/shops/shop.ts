import type { RunningSandbox } from '../support/running-sandbox.ts';

/** Something that the contract for shops (`docs/shops.md`) asks, played in a real shop. Fails by throwing. */
export interface ShopCase {
  readonly name: string;
  play(): Promise<void>;
}

export interface StartedShop {
  readonly cases: readonly ShopCase[];
  stop(): Promise<void>;
}

/** A real shop with its plugin, installed as the plugin's README says. */
export interface Shop {
  /** As the command line names it. */
  readonly name: string;
  /** What is not here and cannot be installed; null where the shop can be played. */
  missing(): string | null;
  start(sandbox: RunningSandbox): Promise<StartedShop>;
}
