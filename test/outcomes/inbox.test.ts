import { afterAll, beforeAll, describe } from 'vitest';
import { findSurfpoolAddon } from '../../src/sandbox/surfpool/addon.ts';
import type { CrashWorld } from '../crash/crash-world.ts';
import { createInboxWorld, inboxCases } from '../support/inbox-cases.ts';

/* The inbox on every network but Ethereum, which `npm test` tries. */

const NETWORKS = (['bsc', 'tron', 'solana'] as const).filter(
  (network) => network !== 'solana' || findSurfpoolAddon() !== null,
);

describe.each(NETWORKS)('the inbox on %s', (network) => {
  let world: CrashWorld;
  beforeAll(async () => {
    world = await createInboxWorld(network);
  });
  afterAll(() => world?.remove());

  inboxCases(() => world);
});
