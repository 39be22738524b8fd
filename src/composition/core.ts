import type { Config } from '../config.ts';
import type { DepositFacts } from '../domain/events/session-events.ts';
import { MODES, type Mode, type RefundId, type SessionId } from '../domain/values/ids.ts';
import {
  addressFamilyOf,
  type AddressFamily,
  type Network,
  type NetworkSettings,
} from '../domain/networks/networks.ts';
import type { SecretPurpose } from '../domain/values/streams.ts';
import type { AddressPool } from '../ports/chain/addresses.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore, Subscription } from '../ports/event-log/event-store.ts';
import type { KeptBytes } from '../ports/read-model/kept-bytes.ts';
import type { PersonalKeys } from '../ports/event-log/personal-keys.ts';
import type { Random } from '../ports/random.ts';
import type { Rates } from '../ports/rates/rates.ts';
import type { Senders } from '../ports/chain/senders.ts';
import type { ReadModel } from '../ports/read-model/read-model.ts';
import type { WebhookUrlVetting } from '../ports/webhooks/sender.ts';
import { indexKey } from '../features/addresses/address-index.ts';
import { GivenAddresses } from '../features/addresses/given-addresses.ts';
import { DueSessions } from '../features/sessions/due.ts';
import { NotificationIds } from '../runtime/commands/notification-ids.ts';
import type { RunningProjections } from '../runtime/projections/runner.ts';
import type { ClockCheck } from '../runtime/util/clock-check.ts';
import type { PersonalSealer, Sealer } from '../runtime/cryptography/sealing.ts';
import { SessionChanges } from '../features/sessions/changes.ts';
import { Deposits } from '../features/deposits/deposits.ts';
import { Idempotency } from '../features/shared/idempotency.ts';
import { MerchantDirectory } from '../features/merchants/directory.ts';
import { createMerchantHandler } from '../features/shared/handlers/merchant-handler.ts';
import { Merchants } from '../features/merchants/merchants.ts';
import { PersonalData } from '../features/shared/personal-data.ts';
import { createSessionHandler, type SessionHandler } from '../features/shared/handlers/session-handler.ts';
import { SessionIds } from '../features/sessions/ids.ts';
import { createSessionOfRefund } from '../features/sessions/refunds/session-of-refund.ts';
import { Sessions } from '../features/sessions/sessions.ts';
import { sharedSecrets, type SecretSeal, type SharedSecret } from '../features/shared/shared-secrets.ts';
import { createPersonHandler } from '../features/shared/handlers/person-handler.ts';
import { People } from '../features/people/people.ts';
import { PeopleDirectory } from '../features/people/directory.ts';
import { createAdjustmentsHandler, type AdjustmentsHandler } from '../features/shared/handlers/adjustments-handler.ts';
import { createPaymentLinkHandler, type PaymentLinkHandler } from '../features/shared/handlers/payment-link-handler.ts';
import { createTransferHandler, type TransferHandler } from '../features/shared/handlers/transfer-handler.ts';
import { caughtUpWith, followEventLog } from './event-log-followers.ts';
import type { Logger } from '../observability/logger.ts';
import { must } from '../domain/values/must.ts';

/** The ports of the core, independent of technology. */
export interface CorePorts {
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly personalKeys: PersonalKeys;
  /** Where the address filter is stored between runs; null: it is rebuilt from the look-ups each time. */
  readonly addressFilter: KeptBytes | null;
  readonly rates: Rates;
  readonly senders: Senders;
  readonly addresses: AddressPool;
  readonly clock: Clock;
  /** Absent if nothing is created, as in a single command. */
  readonly clockCheck?: Pick<ClockCheck, 'isInDoubt'>;
  readonly random: Random;
  readonly sealer: Sealer;
  readonly personalSealer: PersonalSealer;
  readonly vetWebhookUrl: WebhookUrlVetting;
  readonly networks: (mode: Mode) => readonly NetworkSettings[];
  /** The treasury's address; null if this process does not pay and so does not know it. */
  readonly treasuryOf?: (mode: Mode, family: AddressFamily) => string | null;
  readonly projections: Pick<RunningProjections, 'caughtUpTo' | 'status'>;
  /** No other process appends to the store. */
  readonly soleWriter: boolean;
  /** The event log is damaged and only read; unreadable parts are left out. */
  readonly readOnly?: boolean;
}

/** The running core, on which the HTTP side, the processes and the operator's commands are built. */
export interface Core {
  readonly sessions: Sessions;
  readonly sessionHandler: SessionHandler;
  readonly merchantHandler: ReturnType<typeof createMerchantHandler>;
  readonly transferHandler: TransferHandler;
  readonly adjustmentsHandler: AdjustmentsHandler;
  readonly paymentLinkHandler: PaymentLinkHandler;
  readonly senders: Senders;
  readonly merchants: Merchants;
  readonly directory: MerchantDirectory;
  readonly people: People;
  readonly deposits: Deposits;
  readonly personal: PersonalData;
  readonly due: DueSessions;
  readonly addressIndexes: GivenAddresses['indexes'];
  readonly notificationIds: NotificationIds;
  readonly idempotency: Idempotency;
  readonly cursorKey: Uint8Array;
  sessionOfRefund(id: RefundId): Promise<SessionId | null>;
  /** Resolves once `addressIndexes` contains every address assigned before the call. */
  addressesComplete(): Promise<void>;
  /** Resolves once the subscription has passed everything there is now. */
  completeIn(subscription: Subscription): Promise<void>;
  recordDeposit(mode: Mode, family: AddressFamily, facts: DepositFacts): Promise<void>;
  close(): Promise<void>;
}

/** Starts everything that needs only the ports: handlers, directories, and the in-memory followers of the event log. */
export async function startCore(config: Config, ports: CorePorts, log: Logger): Promise<Core> {
  const { store, clock, random } = ports;
  const notificationIds = new NotificationIds(clock, config.NODE_NUMBER);
  const handlerDeps = { store, clock, random, notificationIds, soleWriter: ports.soleWriter };
  const sessionHandler = createSessionHandler(handlerDeps);
  const merchantHandler = createMerchantHandler(handlerDeps);
  const directory = await openMerchantDirectory(ports, notificationIds, log);
  const merchants = new Merchants({
    ...ports,
    handler: merchantHandler,
    directory,
    ...policyBoundsOf(config),
    changeDelayMinutes: config.CHANGE_DELAY_MINUTES,
  });
  const people = await startPeople(handlerDeps, config.RECOVERY_DELAY_HOURS * 3_600);
  const ids = new SessionIds(await secretsFor('session-id', ports, log));
  const [cursorSecret] = await secretsFor('list-cursor', ports, log);
  const idempotency = new Idempotency({ store, clock, random });
  const personal = new PersonalData(ports.personalKeys, ports.personalSealer);
  const changes = new SessionChanges();
  const due = new DueSessions();
  const given = new GivenAddresses({
    readModel: ports.readModel,
    kept: ports.readOnly === true ? null : ports.addressFilter,
    onError: (error) => log.warn({ err: error }, 'the address filter could not be read or saved'),
  });
  const addressIndexes = given.indexes;
  const followers = await followEventLog(ports, { due, changes, given, notificationIds });
  const sessionOfRefund = createSessionOfRefund(ports);
  const sessions = new Sessions({
    ...{ sessions: sessionHandler, ids, merchants: directory, personal, idempotency, sessionOfRefund, changes },
    ...sessionPorts(config, ports),
    onAddressesGiven: (mode, id, addresses) =>
      addresses.forEach(({ family, address }) => given.add(mode, family, address, id)),
  });
  const deposits = new Deposits({
    sessions: sessionHandler,
    rates: ports.rates,
    senders: ports.senders,
    isOurs: isOursOf(ports, addressIndexes),
    clock,
    random,
  });
  return {
    ...{ sessions, sessionHandler, merchantHandler, ...peoplesHandlers(handlerDeps), senders: ports.senders },
    merchants,
    directory,
    people,
    deposits,
    personal,
    due,
    addressIndexes,
    notificationIds,
    idempotency,
    cursorKey: cursorSecret?.bytes ?? random.bytes(32),
    sessionOfRefund,
    addressesComplete: () => caughtUpWith(ports, must(followers[0])),
    completeIn: (subscription) => caughtUpWith(ports, subscription),
    recordDeposit: async (mode, family, facts) => {
      const id = addressIndexes.get(indexKey(mode, family))?.sessionOf(facts.toAddress);
      if (id) await deposits.record(id, [facts]);
    },
    close: async () => {
      await Promise.all(followers.map((follower) => follower.close()));
      await given.close();
      await Promise.all([directory.close(), people.directory.close()]);
    },
  };
}

const sessionPorts = (config: Config, ports: CorePorts) => ({
  rates: ports.rates,
  senders: ports.senders,
  addresses: ports.addresses,
  clock: ports.clock,
  isClockInDoubt: () => ports.clockCheck?.isInDoubt ?? false,
  random: ports.random,
  networks: ports.networks,
  ...sessionSettingsOf(config),
});

/** Handlers of decisions by people. */
const peoplesHandlers = (
  deps: Parameters<typeof createTransferHandler>[0],
): Pick<Core, 'transferHandler' | 'adjustmentsHandler' | 'paymentLinkHandler'> => ({
  transferHandler: createTransferHandler(deps),
  adjustmentsHandler: createAdjustmentsHandler(deps),
  paymentLinkHandler: createPaymentLinkHandler(deps),
});

/** Keys of one mode may be used on the networks of the other. */
const isOursOf =
  ({ treasuryOf }: Pick<CorePorts, 'treasuryOf'>, indexes: Core['addressIndexes']) =>
  (network: Network, address: string): boolean => {
    const family = addressFamilyOf(network);
    return MODES.some(
      (mode) =>
        treasuryOf?.(mode, family) === address || must(indexes.get(indexKey(mode, family))).sessionOf(address) !== null,
    );
  };

/** Bounds of every merchant's policy. */
const policyBoundsOf = (config: Config) => ({
  finalityFloor: {
    ethereumConfirmations: config.ETHEREUM_MIN_CONFIRMATIONS,
    ethereumFinalizedFrom: config.ETHEREUM_FINALIZED_FROM_MAX,
  },
  toleranceBounds: { maxPercent: config.TOLERANCE_MAX_PERCENT, max: config.TOLERANCE_MAX },
});

const sessionSettingsOf = (config: Config) => ({
  sessionTtlSec: config.SESSION_TTL_SECONDS,
  conversionDecimals: config.CONVERSION_DECIMALS,
  dustLimit: config.DUST_LIMIT,
  ...policyBoundsOf(config),
});

async function openMerchantDirectory(
  { store, sealer, readOnly = false }: CorePorts,
  ids: NotificationIds,
  log: Logger,
): Promise<MerchantDirectory> {
  const onFault = (merchant: string, message: string): void =>
    log.error({ merchant, message }, 'a stored secret cannot be decrypted');
  const directory = new MerchantDirectory({ store, sealer, onFault, onNotification: (id) => ids.seen(id) });
  // Unreadable parts of a damaged event log are logged where they are left out.
  await directory.start().catch((error: unknown) => {
    if (!readOnly) throw error;
  });
  return directory;
}

/**
 * Null if this process lacks the key of API secrets, which seals what the API needs. Nothing is created in a read-only
 * event log; secrets of this process alone suffice for it.
 */
async function secretsFor(
  purpose: SecretPurpose,
  { store, sealer, random, clock, readOnly = false }: CorePorts,
  log: Logger,
): Promise<SharedSecret[]> {
  if (!sealer.holds('api-secrets')) return [];
  const seal: SecretSeal = {
    seal: (plain, context) => sealer.seal('api-secrets', plain, context),
    open: (sealed, context) => sealer.open('api-secrets', sealed, context),
  };
  return sharedSecrets(purpose, { store, seal, random, clock }).catch((error: unknown) => {
    if (!readOnly) throw error;
    log.error({ err: error, purpose }, 'a secret in the damaged log cannot be read');
    return [{ version: 1, bytes: random.bytes(32) }];
  });
}

async function startPeople(deps: Parameters<typeof createPersonHandler>[0], recoveryDelaySec: number): Promise<People> {
  const directory = new PeopleDirectory(deps.store);
  await directory.start();
  const { clock, random } = deps;
  return new People({ handler: createPersonHandler(deps), directory, clock, random, recoveryDelaySec });
}
