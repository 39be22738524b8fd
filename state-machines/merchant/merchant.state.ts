import type { KeyRestrictions } from '../../src/domain/api-keys.ts';
import type {
  ApiKeyIssued,
  DomainAdded,
  Logo,
  MerchantChangeScheduled,
  MerchantPolicy,
  MerchantRegistered,
} from '../../src/domain/events/merchant-events.ts';
import type { NotificationField, NotificationType } from '../../src/domain/notifications/types.ts';
import { NETWORKS, type Network } from '../../src/domain/networks/networks.ts';
import { must } from '../../src/domain/values/must.ts';
import type { MerchantId } from '../../src/domain/values/ids.ts';

/** The policy of a merchant who has set nothing. */
export const DEFAULT_POLICY: MerchantPolicy = {
  settlementCoin: 'USDT',
  networks: NETWORKS,
  offerTronUsdc: false,
  tolerance: '0',
  sessionTtlSec: null,
  ethereumFinalizedFrom: '10000',
  ethereumConfirmations: 12,
};

/** Ten percent; a higher value is a typing error. */
export const MAX_SERVICE_FEE_BASIS_POINTS = 1_000;

export interface KeyState {
  readonly issued: ApiKeyIssued['data'];
  readonly revoked: boolean;
  readonly restrictions: KeyRestrictions;
  /** As recorded in the event log; null before the first use. */
  readonly usedAtSec: number | null;
}

/**
 * A webhook secret. `version` counts the secrets of the endpoint and is part of the context under which the text is
 * sealed.
 */
export interface SecretState {
  readonly sealed: string;
  readonly version: number;
}

export interface EndpointState {
  readonly endpointId: string;
  /** Null while there is no URL; events then wait in the pull feed. */
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
  /** How often its URL has changed. */
  readonly moves: number;
}

/** An earlier URL of an endpoint, with the secrets used there. */
export type FormerEndpoint = Pick<EndpointState, 'endpointId' | 'current' | 'next' | 'standardWebhooks'> & {
  readonly url: string;
};

export interface MerchantContext {
  readonly registered: MerchantRegistered['data'] | null;
  /** By key id, in the order of issue. */
  readonly keys: Readonly<Record<string, KeyState>>;
  /** The default endpoint, which receives every outcome. */
  readonly endpoint: EndpointState | null;
  /** By endpoint id, in the order in which they were added. */
  readonly furtherEndpoints: Readonly<Record<string, EndpointState>>;
  /** By domain id. */
  readonly domains: Readonly<Record<string, DomainAdded['data']>>;
  readonly policy: MerchantPolicy;
  readonly logo: Logo | null;
  /** Settlement addresses by network. */
  readonly settlementAddresses: Readonly<Partial<Record<Network, string>>>;
  /** The latest former one of each endpoint, by the id that its deliveries name. */
  readonly formerEndpoints: Readonly<Record<string, FormerEndpoint>>;
  /** Null: the default of the installation. */
  readonly changeDelayMin: number | null;
  /** Pending changes by id, in the order of the requests. */
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

/** The endpoint with that id, or the default one if none is named; null if there is none. */
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

/** The version of the endpoint's next secret. */
export const nextSecretVersion = (endpoint: EndpointState | null): number =>
  endpoint === null ? 1 : (endpoint.next ?? endpoint.current).version + 1;
