import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { MerchantEvent, WebhookEndpointSet } from '../../src/domain/events/merchant-events.ts';
import type { ApiKeyId, MerchantId, Mode } from '../../src/domain/values/ids.ts';
import type { Projection, RowReader, RowRef } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange, type JsonValue, type Table } from '../../src/ports/read-model/read-model.ts';
import { isOfMerchant } from '../../src/domain/events/of-streams.ts';
import { MERCHANT_PREFIX } from '../../src/domain/values/streams.ts';

export const MERCHANTS_TABLE: Table<MerchantRow> = 'merchants@1';
/** Usable API keys, by SHA-256 (hex) of the key. Revoked keys have no row. */
export const API_KEYS_TABLE: Table<ApiKeyRow> = 'api-keys@1';

export type ApiKeyRow = {
  readonly keyId: ApiKeyId;
  readonly merchantId: MerchantId;
  readonly mode: Mode;
  readonly hint: string;
  readonly sealedSecret: string;
};

export type EndpointRow = {
  readonly endpointId: string;
  readonly url: string;
  readonly sealedSecret: string | null;
  /** Issued but not active yet; signs the additional header. */
  readonly nextSealedSecret: string | null;
  readonly activatesAtSec: number | null;
  readonly durableRedelivery: boolean;
  readonly suspended: 'only_failures' | 'gone' | null;
};

export type DomainRow = { readonly domainId: string; readonly host: string; readonly shopName: string };

export type MerchantRow = {
  readonly merchantId: MerchantId;
  readonly name: string;
  readonly mode: Mode;
  readonly keys: readonly {
    readonly keyId: ApiKeyId;
    readonly keyHash: string;
    readonly hint: string;
    readonly revoked: boolean;
  }[];
  readonly endpoints: readonly EndpointRow[];
  readonly domains: readonly DomainRow[];
  /** The settings of `MerchantPolicy` that the merchant has set. */
  readonly policy: { readonly [setting: string]: JsonValue };
};

/** Merchants, their keys, endpoints, domains and policies. Sealed secrets stay sealed. */
export const merchantDirectory: Projection = {
  name: 'merchant-directory',
  version: 1,
  streamPrefixes: [MERCHANT_PREFIX],
  tables: [MERCHANTS_TABLE, API_KEYS_TABLE],
  lists: [],
  needs,
  apply,
};

function needs({ stream, event }: StoredEvent<DomainEvent>): RowRef[] {
  return stream.startsWith(MERCHANT_PREFIX) && event.type !== 'MerchantRegistered'
    ? [{ table: MERCHANTS_TABLE, key: stream.slice(MERCHANT_PREFIX.length) }]
    : [];
}

function apply(stored: StoredEvent<DomainEvent>, read: RowReader): RowChange[] {
  if (!isOfMerchant(stored)) return [];
  const { event } = stored;
  if (event.type === 'MerchantRegistered')
    return [put({ ...event.data, keys: [], endpoints: [], domains: [], policy: {} })];
  const merchant = read(MERCHANTS_TABLE, event.data.merchantId);
  if (!merchant) throw new Error(`merchant ${event.data.merchantId} was never registered`);
  const changed = put(fold(merchant, event));
  if (event.type === 'ApiKeyIssued') {
    const { keyHash, keyId, merchantId, mode, hint, sealedSecret } = event.data;
    return [changed, putRow(API_KEYS_TABLE, keyHash, { keyId, merchantId, mode, hint, sealedSecret })];
  }
  if (event.type === 'ApiKeyRevoked') {
    const revoked = merchant.keys.find((key) => key.keyId === event.data.keyId);
    return revoked ? [changed, { op: 'delete', table: API_KEYS_TABLE, key: revoked.keyHash }] : [];
  }
  return [changed];
}

const put = (row: MerchantRow): RowChange => putRow(MERCHANTS_TABLE, row.merchantId, row);

function fold(merchant: MerchantRow, event: MerchantEvent): MerchantRow {
  switch (event.type) {
    case 'MerchantRegistered':
      return merchant;
    case 'ApiKeyRestricted':
    case 'ApiKeyUsed':
    case 'SettlementAddressSet':
    case 'LogoSet':
    case 'MerchantChangeScheduled':
    case 'MerchantChangeWithdrawn':
    case 'MerchantChangeApplied':
    case 'ChangeDelaySet':
      // Not projected: the merchant directory and settlements read it from the merchant's own stream.
      return merchant;
    case 'ApiKeyIssued': {
      const { keyId, keyHash, hint } = event.data;
      return { ...merchant, keys: [...merchant.keys, { keyId, keyHash, hint, revoked: false }] };
    }
    case 'ApiKeyRevoked':
      return {
        ...merchant,
        keys: merchant.keys.map((key) => (key.keyId === event.data.keyId ? { ...key, revoked: true } : key)),
      };
    case 'WebhookEndpointSet':
      return { ...merchant, endpoints: withEndpoint(merchant.endpoints, event.data) };
    case 'WebhookSecretRotated': {
      const { endpointId, step, sealedSecret, activatesAtSec } = event.data;
      return changeEndpoint(merchant, endpointId, (endpoint) =>
        step === 'issued'
          ? { ...endpoint, nextSealedSecret: sealedSecret, activatesAtSec }
          : {
              ...endpoint,
              sealedSecret: sealedSecret ?? endpoint.nextSealedSecret,
              nextSealedSecret: null,
              activatesAtSec: null,
            },
      );
    }
    case 'WebhookEndpointSuspended':
      return changeEndpoint(merchant, event.data.endpointId, (endpoint) => ({
        ...endpoint,
        suspended: event.data.reason,
      }));
    case 'WebhookEndpointResumed':
      return changeEndpoint(merchant, event.data.endpointId, (endpoint) => ({ ...endpoint, suspended: null }));
    case 'DomainAdded': {
      const { domainId, host, shopName } = event.data;
      return {
        ...merchant,
        domains: [...merchant.domains.filter((domain) => domain.domainId !== domainId), { domainId, host, shopName }],
      };
    }
    case 'DomainRemoved':
      return { ...merchant, domains: merchant.domains.filter((domain) => domain.domainId !== event.data.domainId) };
    case 'PolicySet':
      return { ...merchant, policy: { ...merchant.policy, ...event.data.policy } };
  }
}

/**
 * A null URL removes the endpoint. Setting it again keeps the secret unless a new one is given, and ends a suspension.
 */
function withEndpoint(endpoints: readonly EndpointRow[], data: WebhookEndpointSet['data']): EndpointRow[] {
  const { endpointId, url, sealedSecret, durableRedelivery } = data;
  const before = endpoints.find((endpoint) => endpoint.endpointId === endpointId);
  const others = endpoints.filter((endpoint) => endpoint.endpointId !== endpointId);
  if (url === null) return others;
  const rotation =
    sealedSecret === null && before ? before : { sealedSecret, nextSealedSecret: null, activatesAtSec: null };
  const { nextSealedSecret, activatesAtSec } = rotation;
  return [
    ...others,
    {
      endpointId,
      url,
      sealedSecret: rotation.sealedSecret,
      nextSealedSecret,
      activatesAtSec,
      durableRedelivery,
      suspended: null,
    },
  ];
}

const changeEndpoint = (
  merchant: MerchantRow,
  endpointId: string,
  change: (endpoint: EndpointRow) => EndpointRow,
): MerchantRow => ({
  ...merchant,
  endpoints: merchant.endpoints.map((endpoint) => (endpoint.endpointId === endpointId ? change(endpoint) : endpoint)),
});
