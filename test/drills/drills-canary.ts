import { eventually } from '../support/running-sandbox.ts';
import type { Drill } from './drill.ts';

/* What the payments of the service to itself meet; on BSC. */

const GAS_WEI = 10n ** 18n;

export const canaryPoor: Drill = {
  alerts: ['CanaryHeldUp'],
  fault: 'the wallet of canary payments is empty; afterwards it is filled',
  cause: (world) => world.restart(world.settings({ canary: true })),
  end: ({ bsc, node: { facts } }) => bsc.fund(facts.canary, 100n, GAS_WEI),
};

export const canaryLeaseTaken: Drill = {
  alerts: ['CanaryNotMade'],
  fault: 'another process holds the lease of canary payments but makes none; afterwards the node gets it',
  cause: (world) => world.restart(world.settings({ canary: true, canaryLeaseTaken: true })),
  end: (world) => world.restart(world.settings({ canary: true })),
};

export const canaryStuck: Drill = {
  alerts: ['CanarySlow', 'CanaryFailing'],
  fault: 'the chain makes no block while a canary payment is on its way',
  cause: async (world) => {
    await world.restart(world.settings({ canary: true }));
    await world.bsc.fund(world.node.facts.canary, 100n, GAS_WEI);
    await eventually(
      'a canary payment',
      async () => (await world.prometheus.query('quittance_canary_ok'))[0] === 1,
      90_000,
    );
    await world.bsc.pause(true);
  },
  end: ({ bsc }) => bsc.pause(false),
};
