import { StoreUnavailable } from '../../ports/event-log/event-store.ts';
import type { ReadModel } from '../../ports/read-model/read-model.ts';
import { readingStore } from '../../runtime/event-log/reading-store.ts';
import type { ServiceParts } from '../service-parts.ts';
import type { ServiceProjections, Storage } from './parts.ts';
import type { Follows } from '../../look-ups/messages.ts';

/**
 * The parts of a service whose log was found damaged before anything else read it. Merchants, payers and operators can
 * read what there is. Nothing else is started: no chain is watched, no address leased, nothing delivered, paid, signed
 * or projected.
 */
export async function readingParts(parts: ServiceParts, reason: string): Promise<ServiceParts> {
  return {
    ...parts,
    readOnly: true,
    roles: { ...parts.roles, worker: false, signer: false },
    storage: await readingStorage(parts.storage, reason, parts.log),
    derivers: [],
    chains: [],
    solana: [],
    payouts: null,
  };
}

/** Storage with a damaged log: nothing is derived from it, and look-ups stay as they are. */
export async function readingStorage(storage: Storage, reason: string, log: ServiceParts['log']): Promise<Storage> {
  return {
    ...storage,
    store: readingStore(storage.store, reason, log),
    projections: await standingProjections(storage.readModel, storage.projections.follows, () =>
      storage.projections.stop(),
    ),
    caughtUp: () => Promise.resolve(),
  };
}

/** Look-ups that no longer follow the log. Incomplete ones say so, because an empty answer would be wrong. */
export async function standingProjections(
  readModel: Pick<ReadModel, 'checkpoint'>,
  follows: Follows,
  stop: () => Promise<void> = () => Promise.resolve(),
): Promise<ServiceProjections> {
  const status = await Promise.all(
    follows.projections.map(async (projection) => {
      const position = await readModel.checkpoint(projection);
      return { projection, position, hasCaughtUp: position !== null, lagEvents: 0, lagSec: 0 };
    }),
  );
  return {
    follows,
    start: () => Promise.resolve(),
    ready: () => Promise.resolve(),
    caughtUpTo: () => Promise.resolve(true),
    rebuild: () => Promise.reject(new StoreUnavailable('nothing is rebuilt from a damaged event log')),
    status: () => [...status],
    parked: () => Promise.resolve([]),
    stop,
  };
}
