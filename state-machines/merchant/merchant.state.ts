import type { KeyRestrictions } from '../../src/domain/api-keys.ts';
import type {
  ApiKeyIssued,
  DomainAdded,
  Logo,
  MerchantChangeScheduled,
  MerchantPolicy,
  MerchantRegistered,
} from '../../src/domain/events/merchant-events.ts';
import type { NotificationField, NotificationType } from '../../src/domain/notification-types.ts';
import { NETWORKS, type Network } from '../../src/domain/networks.ts';
import { must } from '../../src/domain/must.ts';
import type { MerchantId } from '../../src/domain/ids.ts';

/** What holds for a merchant who set nothing. */
export const DEFAULT_POLICY: MerchantPolicy = {
  settlementCoin: 'USDT',
  networks: NETWORKS,
  offerTronUsdc: false,
  tolerance: '0',
  sessionTtlSec: null,
  ethereumFinalizedFrom: '10000',
  ethereumConfirmations: 12,
};

/** A tenth: whoever means more has mistyped it. */
export const MAX_SERVICE_FEE_BASIS_POINTS = 1_000;

export interface KeyState {
  readonly issued: ApiKeyIssued['data'];
  readonly revoked: boolean;
  readonly restrictions: KeyRestrictions;
  /** As the ledger knows it; null before the first use. */
  readonly usedAtSec: number | null;
}

/** A webhook secret; `version` counts the secrets of the endpoint and is part of what the text is sealed for. */
export interface SecretState {
  readonly sealed: string;
  readonly version: number;
}

export interface EndpointState {
  readonly endpointId: string;
  /** Null while there is nowhere to send to; events then wait in the pull feed. */
  readonly url: string | null;
  readonly current: SecretState;
  /** Issued and not active yet. */
  readonly next: (SecretState & { readonly activatesAtSec: number }) | null;
  readonly durableRedelivery: boolean;
  readonly events: readonly NotificationType[];
  readonly fields: readonly NotificationField[];
  readonly disabled: boolean;
  readonly standardWebhooks: boolean;
  readonly suspended: 'only_failures' | 'gone' | null;
  /** How often it was reached elsewhere before. */
  readonly moves: number;
}

/** Where an endpoint was reached before it was changed, with what signed there. */
export type FormerEndpoint = Pick<EndpointState, 'endpointId' | 'current' | 'next' | 'standardWebhooks'> & {
  readonly url: string;
};

export interface MerchantContext {
  readonly registered: MerchantRegistered['data'] | null;
  /** By key id, in the order of issue. */
  readonly keys: Readonly<Record<string, KeyState>>;
  /** The default one: it is told every outcome. */
  readonly endpoint: EndpointState | null;
  /** By endpoint id, in the order in which they were added. */
  readonly furtherEndpoints: Readonly<Record<string, EndpointState>>;
  /** By domain id. */
  readonly domains: Readonly<Record<string, DomainAdded['data']>>;
  readonly policy: MerchantPolicy;
  readonly logo: Logo | null;
  /** Where settlements go, by network. */
  readonly settlementAddresses: Readonly<Partial<Record<Network, string>>>;
  /** The last of each endpoint, by the id that their deliveries name. */
  readonly formerEndpoints: Readonly<Record<string, FormerEndpoint>>;
  /** Null: as the installation says. */
  readonly changeDelayMin: number | null;
  /** What waits, by its id, in the order in which it was asked for. */
  readonly pendingChanges: Readonly<Record<string, MerchantChangeScheduled['data']>>;
}

export const initialMerchantContext: MerchantContext = {
  registered: null,
  keys: {},
  endpoint: null,
  furtherEndpoints: {},
  domains: {},
  policy: DEFAULT_POLICY,
  logo: null,
  settlementAddresses: {},
  formerEndpoints: {},
  changeDelayMin: null,
  pendingChanges: {},
};

/** Only an absent merchant was never registered. */
export const merchantIdOf = ({ registered }: MerchantContext): MerchantId => must(registered).merchantId;

export const activeKeys = (context: MerchantContext): KeyState[] =>
  Object.values(context.keys).filter((key) => !key.revoked);

/** The endpoint of that id, or the default one when none is named; null when there is none. */
export function endpointIn(
  { endpoint, furtherEndpoints }: MerchantContext,
  endpointId: string | undefined,
): EndpointState | null {
  if (endpointId === undefined || endpoint?.endpointId === endpointId) return endpoint;
  return Object.hasOwn(furtherEndpoints, endpointId) ? must(furtherEndpoints[endpointId]) : null;
}

/**
 * The secret that signs the main header at a moment: an issued one takes over at its time even if nobody activated it.
 */
export function mainSecret(endpoint: EndpointState, nowSec: number): SecretState {
  return endpoint.next !== null && nowSec >= endpoint.next.activatesAtSec ? endpoint.next : endpoint.current;
}

/** The version that the next secret of the endpoint gets. */
export const nextSecretVersion = (endpoint: EndpointState | null): number =>
  endpoint === null ? 1 : (endpoint.next ?? endpoint.current).version + 1;
