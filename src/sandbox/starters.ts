import { EVM_STARTERS, type SandboxStarters } from './chains.ts';
import { startSurfpool } from './surfpool/start-surfpool.ts';
import { startTronFacade } from './tron-facade/start-tron-facade.ts';

/** Every network that can run on this machine. */
export const STARTERS: SandboxStarters = {
  ...EVM_STARTERS,
  tron: ({ directory }) => startTronFacade({ directory }),
  solana: ({ directory }) => startSurfpool({ directory }),
};
