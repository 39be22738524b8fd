import {
  ConfirmAddresses,
  withConfirmation,
  type SourceOwnership,
} from '../../features/addresses/confirmation.process.ts';
import { SourceRecord } from '../../features/addresses/source-record.ts';
import type { HealthFact } from '../../observability/health.ts';
import type { AddressPool } from '../../ports/chain/addresses.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import { Recurring } from '../../runtime/util/recurring.ts';
import type { ServiceParts } from '../service-parts.ts';

/** Whether the addresses assigned here are the signer's own. */
export interface AddressOwnership {
  /** The same pool, restricted to confirmed addresses. */
  guard(pool: AddressPool): AddressPool;
  status(): readonly SourceOwnership[];
  close(): Promise<void>;
}

/** Asking a local signer is cheap; the event log is read over the network. */
const ASK_EVERY_MS = 5_000;
const ANSWER_EVERY_MS = 2_000;
/** A node that starts together with the signer of a new installation has its answer by then. */
const FIRST_WAIT_MS = 10_000;

/**
 * Resolves after the first check. A process with the signer asks it, and answers in the event log for those without; a
 * process without one reads the event log if other processes may have one. The embedded service without a signer has
 * nobody to ask: the keys are held elsewhere.
 */
export async function startAddressOwnership(parts: ServiceParts, store: EventStore): Promise<AddressOwnership> {
  const { config, roles, storage, clock, random, log, addressOwner: owner = null } = parts;
  const record = new SourceRecord({ store, clock, random, node: String(config.NODE_NUMBER) });
  const isAsked = (roles.api && owner !== null) || !storage.soleWriter;
  const sources = (roles.api && isAsked ? parts.derivers : []).flatMap(({ mode, source }) =>
    source === undefined || config.WATCH_ONLY.includes(mode) ? [] : [source],
  );
  const unasked = roles.api && !isAsked && parts.derivers.some(({ source }) => source !== undefined);
  if (unasked)
    log.warn(
      {},
      'no signer is here to confirm the collection addresses: compare them with `quittance wallet verify` where the keys are',
    );
  const confirmation = new ConfirmAddresses({
    sources,
    ask: (source) => (owner ? owner.owns(source) : record.ask(source)),
    everyMs: ASK_EVERY_MS,
    firstWaitMs: FIRST_WAIT_MS,
    log,
  });
  const answering =
    owner && !storage.soleWriter
      ? new Recurring(
          () => record.answer(owner),
          ANSWER_EVERY_MS,
          (error) => log.warn({ err: error }, 'the signer could not record which addresses are its own'),
        )
      : null;
  answering?.start();
  await confirmation.start();
  return {
    guard: (pool) => withConfirmation(pool, confirmation),
    status: () => confirmation.status(),
    close: async () => {
      await Promise.all([confirmation.close(), answering?.close()]);
    },
  };
}

const WORDS = {
  own: "the signer's own",
  foreign:
    "not the signer's: none is assigned, since nobody here could move the money; correct WALLET_XPUB_... or WALLET_SOLANA_POOL",
  unasked: 'the signer has not confirmed them yet: none is assigned until it has',
} as const;

export const ownershipFacts = (status: readonly SourceOwnership[]): HealthFact[] =>
  status.map(({ mode, family, ownership }) => ({
    name: `address-ownership:${mode}:${family}`,
    state: ownership === 'own' ? 'ok' : 'degraded',
    detail: WORDS[ownership],
  }));
