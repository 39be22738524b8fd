import { startAudit } from './audit.ts';
import type { WatchedNetwork } from '../features/deposits/network-watcher.ts';
import { withKeptKeys } from '../features/shared/kept-master-keys.ts';
import type { Core } from './core.ts';
import { withLedger } from './ledger-feed.ts';
import { readingParts } from './reading-service.ts';
import { startFoundation } from './service-foundation.ts';
import { startMoney } from './service-money.ts';
import { startOutside } from './service-outside.ts';
import type { ServiceParts } from './service-parts.ts';

export interface RunningService {
  readonly core: Core;
  readonly baseUrl: string;
  readonly opsUrl: string;
  readonly consoleUrl: string | null;
  readonly watched: readonly WatchedNetwork[];
  /** Why nothing is written; null in health. */
  readonly readOnly: () => string | null;
  close(): Promise<void>;
}

/** Starts the whole service on open storage, from the inside out. Resolves when requests are accepted. */
export async function startService(given: ServiceParts): Promise<RunningService> {
  // The history is read first: what is not what it was is neither read on nor continued.
  const audit = await startAudit(given);
  const damage = given.storage.ownLog ? audit.readOnly() : null;
  const readable = damage === null ? given : await readingParts(given, damage);
  const parts = withLedgerFed({ ...readable, masterKeys: await openingKeys(readable) });
  // Look-ups of an event log that has just begun are made by this very process.
  const hasHistory = (await parts.storage.store.head()) !== null;
  const foundation = await startFoundation(parts);
  const money = await startMoney(parts, foundation, audit, hasHistory);
  const outside = await startOutside(parts, foundation, money, audit);
  return {
    core: foundation.core,
    baseUrl: outside.baseUrl,
    opsUrl: outside.opsUrl,
    consoleUrl: outside.consoleUrl,
    watched: money.watched,
    readOnly: audit.readOnly,
    close: async () => {
      await outside.stopTaking();
      await money.close();
      await outside.close();
      await audit.close();
      await foundation.close();
      await parts.storage.close();
      await foundation.tracing?.close();
    },
  };
}

/** Whatever asks the signer about a settlement asks one that has read the event log. */
function withLedgerFed(parts: ServiceParts): ServiceParts {
  const { payouts, storage } = parts;
  return payouts ? { ...parts, payouts: { ...payouts, signer: withLedger(payouts.signer, storage.store) } } : parts;
}

/** Of a damaged ledger the keys that it keeps may not be readable; what they sealed does not open then. */
function openingKeys({ storage, masterKeys, readOnly, log }: ServiceParts): Promise<ServiceParts['masterKeys']> {
  return withKeptKeys(storage.store, masterKeys).catch((error: unknown) => {
    if (!readOnly) throw error;
    log.error({ err: error }, 'the master keys that the ledger keeps cannot be read');
    return masterKeys;
  });
}
