import { assign, setup } from 'xstate';
import type { MerchantEvent } from '../../src/domain/events/merchant-events.ts';
import type { ApiKeyId } from '../../src/domain/values/ids.ts';
import { UNRESTRICTED } from '../../src/domain/api-keys.ts';
import { formerEndpointId } from '../../src/domain/notifications/delivery-ids.ts';
import { endpointIn, initialMerchantContext, nextSecretVersion } from './merchant.state.ts';
import type { EndpointState, FormerEndpoint, KeyState, MerchantContext } from './merchant.state.ts';
import { dataOf, typesOf } from '../wired.ts';

export type MerchantValue = 'absent' | 'registered';

/*
 * A merchant's life: registered once, then keys, endpoints, domains, policy and logo change. The alphabet is the
 * merchant's domain events, so a stored stream that replays without refusal was legal.
 */

type Of<Type extends MerchantEvent['type']> = Extract<MerchantEvent, { type: Type }>['data'];
type Seen = { readonly context: MerchantContext; readonly event: MerchantEvent };

/* Fold: one function an event. */

const foldRegistered = (_: MerchantContext, data: Of<'MerchantRegistered'>): Partial<MerchantContext> => ({
  registered: data,
});

const foldKeyIssued = (context: MerchantContext, data: Of<'ApiKeyIssued'>): Partial<MerchantContext> => ({
  keys: {
    ...context.keys,
    [data.keyId]: { issued: data, revoked: false, restrictions: data.restrictions ?? UNRESTRICTED, usedAtSec: null },
  },
});

function withKey(context: MerchantContext, keyId: ApiKeyId, change: Partial<KeyState>): Partial<MerchantContext> {
  const key = context.keys[keyId];
  return key ? { keys: { ...context.keys, [keyId]: { ...key, ...change } } } : {};
}

/** The first endpoint is the default one. */
function withEndpoint(
  { endpoint, furtherEndpoints }: MerchantContext,
  changed: EndpointState,
): Partial<MerchantContext> {
  if (endpoint === null || endpoint.endpointId === changed.endpointId) return { endpoint: changed };
  return { furtherEndpoints: { ...furtherEndpoints, [changed.endpointId]: changed } };
}

function changeEndpoint(
  context: MerchantContext,
  event: MerchantEvent,
  change: Partial<EndpointState>,
): Partial<MerchantContext> {
  const endpoint = concernedEndpoint(context, event);
  return endpoint ? withEndpoint(context, { ...endpoint, ...change }) : {};
}

const concernedEndpoint = (context: MerchantContext, event: MerchantEvent): EndpointState | null =>
  endpointIn(context, 'endpointId' in event.data ? event.data.endpointId : undefined);

function foldEndpointSet(context: MerchantContext, data: Of<'WebhookEndpointSet'>): Partial<MerchantContext> {
  const { endpointId, url, durableRedelivery, events, fields, disabled, standardWebhooks } = data;
  const known = endpointIn(context, endpointId);
  const fresh = data.sealedSecret === null ? null : { sealed: data.sealedSecret, version: nextSecretVersion(known) };
  const current = fresh ?? known?.current;
  if (!current) return {};
  const next = fresh ? null : (known?.next ?? null);
  const former = known && (url !== known.url || disabled) ? reachedBefore(known) : null;
  const moves = (known?.moves ?? 0) + (former ? 1 : 0);
  const endpoint = {
    endpointId,
    url,
    durableRedelivery,
    events,
    fields,
    disabled,
    standardWebhooks,
    current,
    next,
    suspended: null,
    moves,
  };
  return {
    ...withEndpoint(context, endpoint),
    ...(former && { formerEndpoints: withFormer(context.formerEndpoints, former, moves) }),
  };
}

/** Older ones matter only for redeliveries of long-past events. */
const FORMER_KEPT = 5;

function reachedBefore({
  endpointId,
  url,
  disabled,
  current,
  next,
  standardWebhooks,
}: EndpointState): FormerEndpoint | null {
  return url === null || disabled ? null : { endpointId, url, current, next, standardWebhooks };
}

function withFormer(
  kept: MerchantContext['formerEndpoints'],
  former: FormerEndpoint,
  count: number,
): MerchantContext['formerEndpoints'] {
  const dropped = formerEndpointId(former.endpointId, count - FORMER_KEPT);
  const others = Object.entries(kept).filter(([id]) => id !== dropped);
  return { ...Object.fromEntries(others), [formerEndpointId(former.endpointId, count)]: former };
}

const withoutChange = ({ pendingChanges }: MerchantContext, changeId: string): Partial<MerchantContext> => ({
  pendingChanges: Object.fromEntries(Object.entries(pendingChanges).filter(([id]) => id !== changeId)),
});

function foldSecretRotated(context: MerchantContext, data: Of<'WebhookSecretRotated'>): Partial<MerchantContext> {
  const endpoint = endpointIn(context, data.endpointId);
  if (!endpoint) return {};
  if (data.step === 'activated')
    return endpoint.next
      ? withEndpoint(context, {
          ...endpoint,
          current: { sealed: endpoint.next.sealed, version: endpoint.next.version },
          next: null,
        })
      : {};
  const next = {
    sealed: data.sealedSecret ?? '',
    version: nextSecretVersion(endpoint),
    activatesAtSec: data.activatesAtSec ?? 0,
  };
  return withEndpoint(context, { ...endpoint, next });
}

const foldDomainAdded = (context: MerchantContext, data: Of<'DomainAdded'>): Partial<MerchantContext> => ({
  domains: { ...context.domains, [data.domainId]: data },
});

const foldDomainRemoved = (context: MerchantContext, data: Of<'DomainRemoved'>): Partial<MerchantContext> => ({
  domains: Object.fromEntries(Object.entries(context.domains).filter(([id]) => id !== data.domainId)),
});

/* Guards: the invariants. */

const isTheirs = ({ context, event }: Seen): boolean => event.data.merchantId === context.registered?.merchantId;
const endpointOf = ({ context, event }: Seen): EndpointState | null => concernedEndpoint(context, event);
const concernsEndpoint = (seen: Seen): boolean => isTheirs(seen) && endpointOf(seen) !== null;

function isNewKey(seen: Seen): boolean {
  const { keyId, mode } = dataOf(seen.event, 'ApiKeyIssued');
  return isTheirs(seen) && mode === seen.context.registered?.mode && !Object.hasOwn(seen.context.keys, keyId);
}

function isLegalEndpoint(seen: Seen): boolean {
  const { sealedSecret } = dataOf(seen.event, 'WebhookEndpointSet');
  return isTheirs(seen) && (endpointOf(seen) !== null || sealedSecret !== null);
}

function isLegalRotation(seen: Seen): boolean {
  const { step, sealedSecret, activatesAtSec } = dataOf(seen.event, 'WebhookSecretRotated');
  if (!concernsEndpoint(seen)) return false;
  return step === 'issued' ? sealedSecret !== null && activatesAtSec !== null : endpointOf(seen)?.next !== null;
}

const isPending = (seen: Seen, changeId: string): boolean =>
  isTheirs(seen) && Object.hasOwn(seen.context.pendingChanges, changeId);

export const merchantMachine = setup({
  types: typesOf<MerchantContext, MerchantEvent>(),
  guards: {
    isTheirs,
    concernsEndpoint,
    isNewKey,
    isLegalEndpoint,
    isLegalRotation,
    isActiveKey: (seen: Seen) =>
      isTheirs(seen) &&
      seen.context.keys[dataOf(seen.event, 'ApiKeyRestricted', 'ApiKeyUsed', 'ApiKeyRevoked').keyId]?.revoked === false,
    isNewDomain: (seen: Seen) =>
      isTheirs(seen) && !Object.hasOwn(seen.context.domains, dataOf(seen.event, 'DomainAdded').domainId),
    isTheirDomain: (seen: Seen) =>
      isTheirs(seen) && Object.hasOwn(seen.context.domains, dataOf(seen.event, 'DomainRemoved').domainId),
    isNewChange: (seen: Seen) =>
      isTheirs(seen) && !isPending(seen, dataOf(seen.event, 'MerchantChangeScheduled').changeId),
    isPendingChange: (seen: Seen) =>
      isPending(seen, dataOf(seen.event, 'MerchantChangeWithdrawn', 'MerchantChangeApplied').changeId),
    isRunning: (seen: Seen) => isTheirs(seen) && endpointOf(seen)?.suspended === null,
    isSuspended: (seen: Seen) => concernsEndpoint(seen) && endpointOf(seen)?.suspended !== null,
  },
  actions: {
    foldRegistered: assign(({ context, event }) => foldRegistered(context, dataOf(event, 'MerchantRegistered'))),
    foldKeyIssued: assign(({ context, event }) => foldKeyIssued(context, dataOf(event, 'ApiKeyIssued'))),
    foldKeyRevoked: assign(({ context, event }) =>
      withKey(context, dataOf(event, 'ApiKeyRevoked').keyId, { revoked: true }),
    ),
    foldKeyRestricted: assign(({ context, event }) => {
      const { keyId, restrictions } = dataOf(event, 'ApiKeyRestricted');
      return withKey(context, keyId, { restrictions });
    }),
    foldKeyUsed: assign(({ context, event }) => {
      const { keyId, atSec } = dataOf(event, 'ApiKeyUsed');
      return withKey(context, keyId, { usedAtSec: atSec });
    }),
    foldEndpointSet: assign(({ context, event }) => foldEndpointSet(context, dataOf(event, 'WebhookEndpointSet'))),
    foldSecretRotated: assign(({ context, event }) =>
      foldSecretRotated(context, dataOf(event, 'WebhookSecretRotated')),
    ),
    foldSuspended: assign(({ context, event }) =>
      changeEndpoint(context, event, { suspended: dataOf(event, 'WebhookEndpointSuspended').reason }),
    ),
    foldResumed: assign(({ context, event }) => changeEndpoint(context, event, { suspended: null })),
    foldDomainAdded: assign(({ context, event }) => foldDomainAdded(context, dataOf(event, 'DomainAdded'))),
    foldDomainRemoved: assign(({ context, event }) => foldDomainRemoved(context, dataOf(event, 'DomainRemoved'))),
    foldPolicy: assign(({ context, event }) => ({
      policy: { ...context.policy, ...dataOf(event, 'PolicySet').policy },
    })),
    foldLogo: assign(({ event }) => ({ logo: dataOf(event, 'LogoSet').logo })),
    foldChangeScheduled: assign(({ context, event }) => {
      const data = dataOf(event, 'MerchantChangeScheduled');
      return { pendingChanges: { ...context.pendingChanges, [data.changeId]: data } };
    }),
    foldChangeEnded: assign(({ context, event }) =>
      withoutChange(context, dataOf(event, 'MerchantChangeWithdrawn', 'MerchantChangeApplied').changeId),
    ),
    foldChangeDelay: assign(({ event }) => ({ changeDelayMin: dataOf(event, 'ChangeDelaySet').minutes })),
    foldSettlementAddress: assign(({ context, event }) => {
      const { network, address } = dataOf(event, 'SettlementAddressSet');
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
        LogoSet: { guard: 'isTheirs', actions: 'foldLogo' },
        MerchantChangeScheduled: { guard: 'isNewChange', actions: 'foldChangeScheduled' },
        MerchantChangeWithdrawn: { guard: 'isPendingChange', actions: 'foldChangeEnded' },
        MerchantChangeApplied: { guard: 'isPendingChange', actions: 'foldChangeEnded' },
        ChangeDelaySet: { guard: 'isTheirs', actions: 'foldChangeDelay' },
        SettlementAddressSet: { guard: 'isTheirs', actions: 'foldSettlementAddress' },
      },
    },
  },
});
