import { createSecretKey, type KeyObject } from 'node:crypto';
import type { KeyRestrictions } from '../../domain/api-keys.ts';
import type { MerchantChangeScheduled, MerchantEvent } from '../../domain/events/merchant-events.ts';
import { isOfMerchant } from '../../domain/events/of-streams.ts';
import type { MerchantId } from '../../domain/values/ids.ts';
import { merchantOf, queueOfEndpoint, type QueueId } from '../../domain/notifications/delivery-ids.ts';
import { OUTCOME_TYPES } from '../../domain/notifications/types.ts';
import type { Subscription as EndpointSubscription, WebhookEndpoint } from '../../ports/webhooks/endpoint-directory.ts';
import type { EventStore, RecordedEvent, Subscription } from '../../ports/event-log/event-store.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';
import { isEventType } from '../../runtime/commands/event-versions.ts';
import { parseAddressList } from '../../runtime/http/address-list.ts';
import { InvalidMasterKey, KEY_SETTINGS, type Sealer, type SecretKind } from '../../runtime/cryptography/sealing.ts';
import type { MerchantState } from '../../../state-machines/merchant/merchant.decider.ts';
import type { EndpointState, KeyState, MerchantContext } from '../../../state-machines/merchant/merchant.state.ts';
import type { AuthenticatedKey, KeyDirectory } from '../shared/merchant-api.ts';
import type { MerchantLookup, MerchantSettings } from './lookup.ts';
import { apiSecretContext, webhookSecretContext } from './credentials.ts';
import { shownLogo } from './logo.ts';
import { merchantTable } from '../shared/handlers/merchant-handler.ts';
import { must } from '../../domain/values/must.ts';

const STREAM_PREFIX = 'merchant-';
const ENDPOINT_EVENTS: ReadonlySet<string> = new Set([
  'WebhookEndpointSet',
  'WebhookSecretRotated',
  'WebhookEndpointSuspended',
  'WebhookEndpointResumed',
]);

/** Whether an event of this type may restrict a key. Unknown types count as restricting. */
const mayNarrow = (type: string): boolean =>
  type === 'ApiKeyRevoked' || type === 'ApiKeyRestricted' || !isEventType(type);

/** For a merchant that is not loaded yet. */
const OUTCOMES_ONLY: readonly EndpointSubscription[] = [
  { furtherEndpointId: null, types: new Set(OUTCOME_TYPES), fields: [] },
];

interface Entry {
  readonly state: MerchantState;
  readonly revision: number;
  readonly settings: MerchantSettings | null;
  readonly endpoints: ReadonlyMap<QueueId, WebhookEndpoint>;
  readonly subscriptions: readonly EndpointSubscription[];
}

/**
 * All merchants in memory with keys ready for use, kept current by a live subscription to the `merchant-` streams, so
 * that authentication, sessions and webhooks never wait for a store.
 */
export class MerchantDirectory implements KeyDirectory, MerchantLookup {
  readonly #store: EventStore;
  readonly #sealer: Pick<Sealer, 'open' | 'holds'>;
  readonly #onFault: (merchantId: string, message: string) => void;
  readonly #onNotification: (id: string) => void;
  readonly #entries = new Map<string, Entry>();
  readonly #keys = new Map<string, AuthenticatedKey>();
  /** The restrictions from which the active ones were built, by key id. */
  readonly #restrictions = new Map<string, KeyRestrictions>();
  /** When a key was last used in this process. */
  readonly #used = new Map<string, { readonly key: AuthenticatedKey; readonly atSec: number }>();
  readonly #listeners = new Set<(queue: QueueId) => void>();
  /** Merchants with pending changes. */
  readonly #waiting = new Set<string>();
  /** Folded events whose keys and endpoints are not active yet, by merchant. */
  readonly #folded = new Map<string, MerchantEvent[]>();
  /** Revision of the newest unreadable event that may restrict a key, by merchant. */
  readonly #doubtful = new Map<string, number>();
  #subscription: Subscription | null = null;
  #firstFault: Error | null = null;

  /** `onFault`: a stored secret cannot be opened. That key or endpoint is disabled; all others work. */
  constructor(deps: {
    readonly store: EventStore;
    readonly sealer: Pick<Sealer, 'open' | 'holds'>;
    readonly onFault?: (merchantId: string, message: string) => void;
    /** Called with the id of each settings notification. */
    readonly onNotification?: (id: string) => void;
  }) {
    this.#store = deps.store;
    this.#sealer = deps.sealer;
    this.#onFault = deps.onFault ?? (() => undefined);
    this.#onNotification = deps.onNotification ?? (() => undefined);
  }

  /**
   * Reads all merchants and then follows the event log. Rejects when a secret cannot be opened, most likely because of
   * a wrong key in the settings. Secrets for which this process has no key stay sealed: it then verifies no requests,
   * or signs no webhooks.
   */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#subscription = this.#store.subscribe({
        name: 'merchant-directory',
        after: null,
        streamPrefixes: [STREAM_PREFIX],
        onEvents: (events) => this.#take(events),
        onCaughtUp: resolve,
      });
    });
    if (this.#firstFault) throw this.#firstFault;
  }

  /** Resolves once everything committed so far is visible here. */
  async catchUp(): Promise<void> {
    const head = await this.#store.head();
    if (head !== null) await this.#subscription?.reached(head);
  }

  find(keyHash: string): AuthenticatedKey | null {
    const key = this.#keys.get(keyHash) ?? null;
    return key && this.#doubtful.has(key.merchantId) ? null : key;
  }

  used(key: AuthenticatedKey, nowSec: number): void {
    this.#used.set(key.keyId, { key, atSec: nowSec });
  }

  /** The last known use of a key, in this process or recorded by others. */
  lastUseOf({ issued, usedAtSec }: KeyState): number | null {
    return Math.max(usedAtSec ?? 0, this.#used.get(issued.keyId)?.atSec ?? 0) || null;
  }

  /** Keys used in this process whose use may not be recorded yet. */
  usesHere(): readonly { readonly key: AuthenticatedKey; readonly atSec: number }[] {
    return [...this.#used.values()];
  }

  settings(merchantId: MerchantId): MerchantSettings | null {
    return this.#entries.get(merchantId)?.settings ?? null;
  }

  /** The whole state, for overviews; null if there is no such merchant. */
  state(merchantId: MerchantId): MerchantState | null {
    return this.#entries.get(merchantId)?.state ?? null;
  }

  endpointOf(queue: QueueId): WebhookEndpoint | null {
    return this.#entries.get(merchantOf(queue))?.endpoints.get(queue) ?? null;
  }

  subscriptionsOf(merchantId: MerchantId): readonly EndpointSubscription[] {
    return this.#entries.get(merchantId)?.subscriptions ?? OUTCOMES_ONLY;
  }

  /** Pending changes whose time has come. */
  dueChanges(nowSec: number): readonly MerchantChangeScheduled['data'][] {
    return [...this.#waiting].flatMap((id) =>
      Object.values(this.#entries.get(id)?.state.context.pendingChanges ?? {}).filter(
        ({ takesEffectAtSec }) => takesEffectAtSec <= nowSec,
      ),
    );
  }

  merchantIds(): MerchantId[] {
    return [...this.#entries.values()].flatMap(({ state }) =>
      state.context.registered ? [state.context.registered.merchantId] : [],
    );
  }

  /** Calls the listener when an endpoint changes. Returns the function that unsubscribes. */
  onEndpointChange(listener: (queue: QueueId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    await this.#subscription?.close();
    this.#subscription = null;
    this.#keys.clear();
    this.#entries.clear();
  }

  #take(events: readonly RecordedEvent[]): void {
    try {
      this.#fold(events);
    } finally {
      // A failed batch is redelivered without the events already folded; a key revoked among them must not stay in use.
      for (const [merchantId, facts] of this.#folded) {
        this.#refresh(merchantId, facts);
        this.#folded.delete(merchantId);
      }
    }
  }

  #fold(events: readonly RecordedEvent[]): void {
    for (const recorded of events) {
      const merchantId = recorded.stream.slice(STREAM_PREFIX.length);
      const known = this.#entries.get(merchantId);
      // A batch that failed midway is redelivered from its start.
      if (known && recorded.revision <= known.revision) continue;
      const [event, state] = this.#next(recorded, merchantId, known?.state);
      const { settings = null, endpoints = new Map(), subscriptions = OUTCOMES_ONLY } = known ?? {};
      this.#entries.set(merchantId, { state, revision: recorded.revision, settings, endpoints, subscriptions });
      this.#folded.set(merchantId, [...(this.#folded.get(merchantId) ?? []), event]);
    }
  }

  /**
   * Applies the event to the merchant. While a restricting event is unreadable, none of the merchant's keys is active.
   */
  #next(recorded: RecordedEvent, merchantId: string, known: MerchantState | undefined): [MerchantEvent, MerchantState] {
    try {
      const stored = decodeEvent(recorded);
      if (!isOfMerchant(stored)) throw new Error(`${recorded.stream} is not the stream of a merchant`);
      const { event, metadata } = stored;
      if (metadata.notificationId !== undefined) this.#onNotification(metadata.notificationId);
      const state = merchantTable.replay([event], known);
      if (this.#doubtful.get(merchantId) === recorded.revision) this.#doubtful.delete(merchantId);
      return [event, state];
    } catch (error) {
      if (mayNarrow(recorded.type)) this.#doubtful.set(merchantId, recorded.revision);
      throw error;
    }
  }

  #refresh(merchantId: string, events: readonly MerchantEvent[]): void {
    const entry = this.#entries.get(merchantId);
    if (!entry?.state.context.registered) return;
    const { context } = entry.state;
    const owner = must(context.registered).merchantId;
    const changed = new Set(
      events.flatMap(({ type, data }) => (ENDPOINT_EVENTS.has(type) && 'endpointId' in data ? [data.endpointId] : [])),
    );
    for (const key of Object.values(context.keys)) this.#refreshKey(key);
    if (Object.keys(context.pendingChanges).length > 0) this.#waiting.add(merchantId);
    else this.#waiting.delete(merchantId);
    this.#entries.set(merchantId, {
      ...entry,
      settings: settingsOf(entry.state),
      endpoints: changed.size > 0 ? this.#openEndpoints(context) : entry.endpoints,
      subscriptions: changed.size > 0 ? subscriptionsIn(context) : entry.subscriptions,
    });
    const queues = [...changed].map((endpointId) => (endpointId === context.endpoint?.endpointId ? null : endpointId));
    const former = Object.entries(context.formerEndpoints).filter(([, { endpointId }]) => changed.has(endpointId));
    for (const endpointId of [...queues, ...former.map(([id]) => id)])
      for (const listener of this.#listeners) listener(queueOfEndpoint(owner, endpointId));
  }

  #refreshKey({ issued, revoked, restrictions }: KeyState): void {
    if (revoked) this.#keys.delete(issued.keyHash);
    const known = this.#keys.get(issued.keyHash);
    if (revoked || (known && this.#restrictions.get(issued.keyId) === restrictions)) return;
    const { keyId, merchantId, mode } = issued;
    const secret =
      known?.secret ?? this.#open('api-secrets', merchantId, issued.sealedSecret, apiSecretContext(merchantId, keyId));
    if (!secret) return;
    this.#restrictions.set(keyId, restrictions);
    this.#keys.set(issued.keyHash, { keyId, merchantId, mode, secret, ...activeRestrictions(restrictions) });
  }

  #openEndpoints({
    endpoint,
    furtherEndpoints,
    formerEndpoints,
    registered,
  }: MerchantContext): ReadonlyMap<QueueId, WebhookEndpoint> {
    const { merchantId } = must(registered);
    const former = Object.entries(formerEndpoints).map(([id, state]) => [id, { ...FORMER, ...state }] as const);
    const all = [[null, endpoint], ...Object.entries(furtherEndpoints), ...former] as const;
    return new Map(
      all.flatMap(([furtherEndpointId, state]) => {
        const opened = state && this.#openEndpoint(merchantId, state);
        return opened ? [[queueOfEndpoint(merchantId, furtherEndpointId), opened] as const] : [];
      }),
    );
  }

  #openEndpoint(merchantId: MerchantId, endpoint: EndpointState): WebhookEndpoint | null {
    if (endpoint.url === null || endpoint.disabled) return null;
    const keyOf = (secret: { sealed: string; version: number }) =>
      this.#open(
        'webhook-secrets',
        merchantId,
        secret.sealed,
        webhookSecretContext(merchantId, endpoint.endpointId, secret.version),
      );
    const secret = keyOf(endpoint.current);
    const next = endpoint.next === null ? null : keyOf(endpoint.next);
    if (!secret) return null;
    const { endpointId, url, durableRedelivery, standardWebhooks } = endpoint;
    const nextSecret =
      endpoint.next !== null && next ? { key: next, activatesAtSec: endpoint.next.activatesAtSec } : null;
    return {
      endpointId,
      url,
      secret,
      nextSecret,
      durableRedelivery,
      standardWebhooks,
      suspended: endpoint.suspended !== null,
    };
  }

  #open(kind: SecretKind, merchantId: MerchantId, sealed: string, context: string): KeyObject | null {
    if (!this.#sealer.holds(kind)) return null;
    try {
      return createSecretKey(this.#sealer.open(kind, sealed, context));
    } catch (error) {
      const message = `a secret of ${merchantId} cannot be decrypted: ${error instanceof Error ? error.message : 'unknown fault'}`;
      this.#firstFault ??= new InvalidMasterKey(
        `${message}. Start with the key that sealed it; to replace it, put the new one in front: MASTER_KEY=<new>,<old>, or ${KEY_SETTINGS[kind]} (docs/runbook.md, "Keys that seal")`,
      );
      this.#onFault(merchantId, message);
      return null;
    }
  }
}

/** For a notification to a removed endpoint. */
const FORMER = {
  durableRedelivery: false,
  events: [],
  fields: [],
  disabled: false,
  suspended: null,
  moves: 0,
} as const;

/** Undefined for an unrestricted key. A list that does not parse was written by another version and allows nobody. */
function activeRestrictions({
  scopes,
  addresses,
  signatureVersion,
}: KeyRestrictions): Pick<AuthenticatedKey, 'restrictions'> {
  if (scopes === null && addresses.length === 0 && signatureVersion === 1) return {};
  const list = parseAddressList(addresses);
  const allowsAddress = addresses.length === 0 ? () => true : 'allows' in list ? list.allows : () => false;
  return { restrictions: { scopes: scopes && new Set(scopes), allowsAddress, signatureVersion } };
}

function subscriptionsIn({ endpoint, furtherEndpoints }: MerchantContext): readonly EndpointSubscription[] {
  const further = Object.values(furtherEndpoints).filter(({ disabled }) => !disabled);
  return [
    { furtherEndpointId: null, types: new Set(endpoint?.events ?? OUTCOME_TYPES), fields: endpoint?.fields ?? [] },
    ...further.map(({ endpointId, events, fields }) => ({
      furtherEndpointId: endpointId,
      types: new Set(events),
      fields,
    })),
  ];
}

function settingsOf({ context }: MerchantState): MerchantSettings {
  const { merchantId, name, mode } = must(context.registered);
  const domains = Object.values(context.domains).map(({ domainId, host, shopName }) => ({ domainId, host, shopName }));
  return { merchantId, name, mode, policy: context.policy, domains, logo: context.logo && shownLogo(context.logo) };
}
