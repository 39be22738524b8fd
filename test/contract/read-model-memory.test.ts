import { MemoryReadModel } from '../support/memory-read-model.ts';
import { readModelContract } from './read-model.contract.ts';

// The tests' own stand-in keeps the same contract, or what they prove with it would mean nothing.
readModelContract('memory', async () => {
  const model = new MemoryReadModel();
  return { model, reopen: async () => model, dispose: async () => undefined };
});
