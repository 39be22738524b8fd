import { assign, setup } from 'xstate';
import type { MerchantEvent } from '../../src/domain/events/merchant-events.ts';
import type { ApiKeyId } from '../../src/domain/ids.ts';
import { UNRESTRICTED } from '../../src/domain/api-keys.ts';
import { initialMerchantContext, nextSecretVersion } from './merchant.state.ts';
import type { EndpointState, KeyState, MerchantContext } from './merchant.state.ts';

export type MerchantValue = 'absent' | 'registered';

/*
 * A merchant's life: registered once, then keys, endpoint, domains and policy change. The alphabet is the merchant's
 * domain events, so a stored stream that replays without refusal was legal.
 */

type Of<Type extends MerchantEvent['type']> = Extract<MerchantEvent, { type: Type }>['data'];
type Seen = { readonly context: MerchantContext; readonly event: MerchantEvent };
const as = <Type extends MerchantEvent['type']>(event: MerchantEvent): Of<Type> => event.data as Of<Type>;

/* Fold: one function an event. */

const foldRegistered = (_: MerchantContext, data: Of<'MerchantRegistered'>): Partial<MerchantContext> => ({ registered: data });

const foldKeyIssued = (context: MerchantContext, data: Of<'ApiKeyIssued'>): Partial<MerchantContext> => ({
  keys: { ...context.keys, [data.keyId]: { issued: data, revoked: false, restrictions: data.restrictions ?? UNRESTRICTED, usedAtSec: null } },
});

function withKey(context: MerchantContext, keyId: ApiKeyId, change: Partial<KeyState>): Partial<MerchantContext> {
  const key = context.keys[keyId];
  return key ? { keys: { ...context.keys, [keyId]: { ...key, ...change } } } : {};
}

function foldEndpointSet({ endpoint }: MerchantContext, data: Of<'WebhookEndpointSet'>): Partial<MerchantContext> {
  const { endpointId, url, durableRedelivery, events, standardWebhooks } = data;
  const fresh = data.sealedSecret === null ? null : { sealed: data.sealedSecret, version: nextSecretVersion(endpoint) };
  const current = fresh ?? endpoint?.current;
  if (!current) return {};
  const next = fresh ? null : (endpoint?.next ?? null);
  return { endpoint: { endpointId, url, durableRedelivery, events, standardWebhooks, current, next, suspended: null } };
}

function foldSecretRotated({ endpoint }: MerchantContext, data: Of<'WebhookSecretRotated'>): Partial<MerchantContext> {
  if (!endpoint) return {};
  if (data.step === 'activated')
    return endpoint.next ? { endpoint: { ...endpoint, current: { sealed: endpoint.next.sealed, version: endpoint.next.version }, next: null } } : {};
  const next = { sealed: data.sealedSecret ?? '', version: nextSecretVersion(endpoint), activatesAtSec: data.activatesAtSec ?? 0 };
  return { endpoint: { ...endpoint, next } };
}

const withEndpoint = (context: MerchantContext, change: Partial<EndpointState>): Partial<MerchantContext> =>
  context.endpoint ? { endpoint: { ...context.endpoint, ...change } } : {};

const foldDomainAdded = (context: MerchantContext, data: Of<'DomainAdded'>): Partial<MerchantContext> => ({
  domains: { ...context.domains, [data.domainId]: data },
});

const foldDomainRemoved = (context: MerchantContext, data: Of<'DomainRemoved'>): Partial<MerchantContext> => ({
  domains: Object.fromEntries(Object.entries(context.domains).filter(([id]) => id !== data.domainId)),
});

/* Guards: the invariants. */

const isTheirs = ({ context, event }: Seen): boolean => event.data.merchantId === context.registered?.merchantId;
const concernsEndpoint = (seen: Seen): boolean =>
  isTheirs(seen) && (seen.event.data as { endpointId?: string }).endpointId === seen.context.endpoint?.endpointId;

function isNewKey(seen: Seen): boolean {
  const { keyId, mode } = as<'ApiKeyIssued'>(seen.event);
  return isTheirs(seen) && mode === seen.context.registered?.mode && !Object.hasOwn(seen.context.keys, keyId);
}

function isLegalEndpoint(seen: Seen): boolean {
  const { endpointId, sealedSecret } = as<'WebhookEndpointSet'>(seen.event);
  return isTheirs(seen) && (seen.context.endpoint?.endpointId === endpointId || (seen.context.endpoint === null && sealedSecret !== null));
}

function isLegalRotation(seen: Seen): boolean {
  const { step, sealedSecret, activatesAtSec } = as<'WebhookSecretRotated'>(seen.event);
  if (!concernsEndpoint(seen)) return false;
  return step === 'issued' ? sealedSecret !== null && activatesAtSec !== null : seen.context.endpoint?.next !== null;
}

export const merchantMachine = setup({
  types: { context: {} as MerchantContext, events: {} as MerchantEvent },
  guards: {
    isTheirs,
    concernsEndpoint,
    isNewKey,
    isLegalEndpoint,
    isLegalRotation,
    isActiveKey: (seen: Seen) => isTheirs(seen) && seen.context.keys[as<'ApiKeyRevoked'>(seen.event).keyId]?.revoked === false,
    isNewDomain: (seen: Seen) => isTheirs(seen) && !Object.hasOwn(seen.context.domains, as<'DomainAdded'>(seen.event).domainId),
    isTheirDomain: (seen: Seen) => isTheirs(seen) && Object.hasOwn(seen.context.domains, as<'DomainRemoved'>(seen.event).domainId),
    isRunning: (seen: Seen) => concernsEndpoint(seen) && seen.context.endpoint?.suspended === null,
    isSuspended: (seen: Seen) => concernsEndpoint(seen) && seen.context.endpoint?.suspended !== null,
  },
  actions: {
    foldRegistered: assign(({ context, event }) => foldRegistered(context, as<'MerchantRegistered'>(event))),
    foldKeyIssued: assign(({ context, event }) => foldKeyIssued(context, as<'ApiKeyIssued'>(event))),
    foldKeyRevoked: assign(({ context, event }) => withKey(context, as<'ApiKeyRevoked'>(event).keyId, { revoked: true })),
    foldKeyRestricted: assign(({ context, event }) => {
      const { keyId, restrictions } = as<'ApiKeyRestricted'>(event);
      return withKey(context, keyId, { restrictions });
    }),
    foldKeyUsed: assign(({ context, event }) => {
      const { keyId, atSec } = as<'ApiKeyUsed'>(event);
      return withKey(context, keyId, { usedAtSec: atSec });
    }),
    foldEndpointSet: assign(({ context, event }) => foldEndpointSet(context, as<'WebhookEndpointSet'>(event))),
    foldSecretRotated: assign(({ context, event }) => foldSecretRotated(context, as<'WebhookSecretRotated'>(event))),
    foldSuspended: assign(({ context, event }) => withEndpoint(context, { suspended: as<'WebhookEndpointSuspended'>(event).reason })),
    foldResumed: assign(({ context }) => withEndpoint(context, { suspended: null })),
    foldDomainAdded: assign(({ context, event }) => foldDomainAdded(context, as<'DomainAdded'>(event))),
    foldDomainRemoved: assign(({ context, event }) => foldDomainRemoved(context, as<'DomainRemoved'>(event))),
    foldPolicy: assign(({ context, event }) => ({ policy: { ...context.policy, ...as<'PolicySet'>(event).policy } })),
    foldSettlementAddress: assign(({ context, event }) => {
      const { network, address } = as<'SettlementAddressSet'>(event);
      return { settlementAddresses: { ...context.settlementAddresses, [network]: address } };
    }),
  },
}).createMachine({
  id: 'merchant',
  context: initialMerchantContext,
  initial: 'absent',
  states: {
    absent: {
      on: { MerchantRegistered: { target: 'registered', actions: 'foldRegistered' } },
    },
    registered: {
      on: {
        ApiKeyIssued: { guard: 'isNewKey', actions: 'foldKeyIssued' },
        ApiKeyRestricted: { guard: 'isActiveKey', actions: 'foldKeyRestricted' },
        ApiKeyUsed: { guard: 'isActiveKey', actions: 'foldKeyUsed' },
        ApiKeyRevoked: { guard: 'isActiveKey', actions: 'foldKeyRevoked' },
        WebhookEndpointSet: { guard: 'isLegalEndpoint', actions: 'foldEndpointSet' },
        WebhookSecretRotated: { guard: 'isLegalRotation', actions: 'foldSecretRotated' },
        WebhookEndpointSuspended: { guard: 'isRunning', actions: 'foldSuspended' },
        WebhookEndpointResumed: { guard: 'isSuspended', actions: 'foldResumed' },
        DomainAdded: { guard: 'isNewDomain', actions: 'foldDomainAdded' },
        DomainRemoved: { guard: 'isTheirDomain', actions: 'foldDomainRemoved' },
        PolicySet: { guard: 'isTheirs', actions: 'foldPolicy' },
        SettlementAddressSet: { guard: 'isTheirs', actions: 'foldSettlementAddress' },
      },
    },
  },
});
