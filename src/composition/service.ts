import { startAudit } from './audit/audit.ts';
import type { WatchedNetwork } from '../features/deposits/network-watcher.ts';
import { withKeptKeys } from '../features/shared/kept-keys.ts';
import { sharedSecrets, type SecretSeal } from '../features/shared/shared-secrets.ts';
import type { RunningLease } from '../runtime/leases/with-lease.ts';
import { openWith, sealWith } from '../runtime/cryptography/sealing.ts';
import type { Core } from './core.ts';
import { withEventLog } from '../features/payouts/event-log-feed.ts';
import { readingParts } from './storage/reading-service.ts';
import { startFoundation, type Foundation } from './service-foundation.ts';
import { startMoney } from './service-money.ts';
import { startOutside } from './service-outside.ts';
import type { ServiceParts } from './service-parts.ts';

export interface RunningService {
  readonly core: Core;
  readonly baseUrl: string;
  readonly opsUrl: string;
  readonly consoleUrl: string | null;
  readonly watched: readonly WatchedNetwork[];
  /** Why nothing can be written; null while healthy. */
  readonly readOnly: () => string | null;
  close(): Promise<void>;
}

/** Starts the whole service on open storage, from the inside out. Resolves once requests are accepted. */
export async function startService(given: ServiceParts): Promise<RunningService> {
  // The history is verified first: an altered one is neither read nor continued.
  const audit = await startAudit(given);
  const damage = given.storage.ownLog ? audit.readOnly() : null;
  const readable = damage === null ? given : await readingParts(given, damage);
  const parts = withEventLogFed({ ...readable, sealingKeys: await openingKeys(readable) });
  // Look-ups of a new event log are built by this very process.
  const hasHistory = (await parts.storage.store.head()) !== null;
  const foundation = await startFoundation(parts);
  await checkPersonalKey(parts);
  const money = await startMoney(parts, foundation, audit, hasHistory);
  const outside = await startOutside(parts, foundation, money, audit);
  const canaries = await canariesOf(parts, foundation, parts.config.PUBLIC_URL ?? outside.baseUrl);
  return {
    core: foundation.core,
    baseUrl: outside.baseUrl,
    opsUrl: outside.opsUrl,
    consoleUrl: outside.consoleUrl,
    watched: money.watched,
    readOnly: audit.readOnly,
    close: async () => {
      await canaries?.close();
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

/** Ensures that the signer has read the event log before it is asked about a settlement or a refund. */
function withEventLogFed(parts: ServiceParts): ServiceParts {
  const { payouts, storage } = parts;
  return payouts ? { ...parts, payouts: { ...payouts, signer: withEventLog(payouts.signer, storage.store) } } : parts;
}

/**
 * Nodes that seal personal data under different keys would write what the others cannot open. The first one therefore
 * leaves a text in the event log that every other must open. Rejects with `CannotOpen`. Keys of secrets are tested on
 * the secrets themselves.
 */
async function checkPersonalKey({
  storage: { store },
  sealingKeys: { 'personal-data': keys },
  random,
  clock,
  readOnly,
}: ServiceParts): Promise<void> {
  if (!keys || readOnly) return;
  const seal: SecretSeal = {
    seal: (plain, context) => sealWith(keys, plain, context),
    open: (sealed, context) => openWith(keys, sealed, context),
  };
  await sharedSecrets('personal-data-check', { store, seal, random, clock });
}

/** Null without canary payments, so that this process does not load their signing code. */
async function canariesOf(
  parts: ServiceParts,
  foundation: Foundation,
  publicUrl: string,
): Promise<RunningLease | null> {
  const { canary, roles, readOnly } = parts;
  if (!canary?.wallet || !roles.worker || readOnly) return null;
  const { startCanaries } = await import('./canary/canary.ts');
  return startCanaries(parts, { ...canary, wallet: canary.wallet }, foundation, publicUrl);
}

/** The stored keys in a damaged event log may be unreadable; what they sealed then does not open. */
function openingKeys({ storage, sealingKeys, readOnly, log }: ServiceParts): Promise<ServiceParts['sealingKeys']> {
  return withKeptKeys(storage.store, sealingKeys).catch((error: unknown) => {
    if (!readOnly) throw error;
    log.error({ err: error }, 'the retired keys in the event log cannot be read');
    return sealingKeys;
  });
}
