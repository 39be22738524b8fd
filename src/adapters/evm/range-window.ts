/**
 * Adapts the number of blocks per `eth_getLogs` request to one provider: grows on success, shrinks on refusal,
 * remembers refusals.
 */
export interface RangeWindow {
  readonly blocks: number;
  succeeded(askedBlocks: number): void;
  /** `fixed`: the provider named the limit of its plan, so larger ranges are not tried soon. */
  refused(nextBlocks: number, fixed: boolean): void;
}

/** After this many successes in a row at the ceiling, a larger range is tried. */
const TRIAL_AFTER = { fixed: 256, found: 8 } as const;

export function createRangeWindow(options: {
  readonly initialBlocks: number;
  readonly maxBlocks: number;
}): RangeWindow {
  let blocks = options.initialBlocks;
  let ceiling = options.maxBlocks;
  let successesAtCeiling = 0;
  let trialAfter: number = TRIAL_AFTER.found;

  return {
    get blocks() {
      return blocks;
    },
    succeeded(askedBlocks) {
      if (askedBlocks < blocks) return;
      successesAtCeiling = blocks >= ceiling ? successesAtCeiling + 1 : 0;
      if (successesAtCeiling >= trialAfter) {
        ceiling = Math.min(options.maxBlocks, Math.ceil(ceiling * 1.5));
        successesAtCeiling = 0;
      }
      blocks = Math.min(ceiling, blocks * 2);
    },
    refused(nextBlocks, fixed) {
      blocks = ceiling = Math.max(1, Math.floor(nextBlocks));
      trialAfter = fixed ? TRIAL_AFTER.fixed : TRIAL_AFTER.found;
      successesAtCeiling = 0;
    },
  };
}
