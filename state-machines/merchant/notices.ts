import { formerEndpointId } from '../../src/domain/delivery-ids.ts';
import type { GuardedChange, MerchantEvent, WebhookEndpointSet } from '../../src/domain/events/merchant-events.ts';
import type { SettingsNotice } from '../../src/domain/settings-notices.ts';
import { endpointIn, type MerchantContext } from './merchant.state.ts';

/** What an event tells the merchant, and at which endpoints beside the default one. */
export interface AddressedNotice {
  readonly notice: SettingsNotice;
  /**
   * Where what the default endpoint is told goes: null for the default endpoint itself, else where that was reached
   * before.
   */
  readonly formerDefault: string | null;
  /** Further endpoints that the change is about, or where they were reached before. */
  readonly further: readonly string[];
}

/** Events of a merchant that may tell it something: they get an id that is told. */
export const SETTINGS_EVENTS: ReadonlySet<string> = new Set<MerchantEvent['type']>([
  'WebhookEndpointSet',
  'PolicySet',
  'SettlementAddressSet',
  'ChangeDelaySet',
  'MerchantChangeScheduled',
  'MerchantChangeWithdrawn',
  'MerchantChangeApplied',
]);

/** Null where there is nothing to tell. */
export function settingsNoticeOf(
  event: MerchantEvent,
  before: MerchantContext,
  { atSec, actor }: { atSec: number; actor: string },
): AddressedNotice | null {
  const changedBy = actor.startsWith('merchant:') ? 'merchant' : 'operator';
  const changed = (change: GuardedChange): SettingsNotice => ({
    ...{
      type: 'settings.changed',
      status: 'changed',
      change,
      changeId: null,
      takesEffectAtSec: atSec,
      changedBy,
      refusal: null,
    },
  });
  switch (event.type) {
    case 'WebhookEndpointSet':
      return endpointNotice(event.data, before, changed);
    case 'PolicySet':
      return { notice: changed({ kind: 'policy', policy: event.data.policy }), ...DEFAULT_ONLY };
    case 'SettlementAddressSet': {
      const { network, address, approvers } = event.data;
      return { notice: changed({ kind: 'settlement_address', network, address, approvers }), ...DEFAULT_ONLY };
    }
    case 'ChangeDelaySet':
      return { notice: changed({ kind: 'change_delay', minutes: event.data.minutes }), ...DEFAULT_ONLY };
    case 'MerchantChangeScheduled': {
      const { change, changeId, takesEffectAtSec } = event.data;
      const notice = {
        type: 'settings.change_scheduled',
        status: 'scheduled',
        change,
        changeId,
        takesEffectAtSec,
        changedBy,
        refusal: null,
      } as const;
      return { notice, formerDefault: null, further: concerned(change, before) };
    }
    case 'MerchantChangeWithdrawn':
    case 'MerchantChangeApplied': {
      const pending = before.pendingChanges[event.data.changeId];
      const refusal = event.type === 'MerchantChangeApplied' ? event.data.refusal : null;
      // What took effect is told by the event that changed it.
      if (!pending || (event.type === 'MerchantChangeApplied' && refusal === null)) return null;
      const { change, changeId, takesEffectAtSec } = pending;
      const status = refusal === null ? 'withdrawn' : 'refused';
      const notice = {
        type: 'settings.change_withdrawn',
        status,
        change,
        changeId,
        takesEffectAtSec,
        changedBy,
        refusal,
      } as const;
      return { notice, formerDefault: null, further: concerned(change, before) };
    }
    default:
      return null;
  }
}

const DEFAULT_ONLY = { formerDefault: null, further: [] } as const;

function endpointNotice(
  { endpointId, url, disabled }: WebhookEndpointSet['data'],
  before: MerchantContext,
  changed: (change: GuardedChange) => SettingsNotice,
): AddressedNotice | null {
  const known = endpointIn(before, endpointId);
  const isDefault = before.endpoint === null || before.endpoint.endpointId === endpointId;
  // The first URL of an account takes nothing from anybody, and an endpoint that is not in use is told of when it is.
  const isNothingYet = isDefault ? (known?.url ?? null) === null : known === null && disabled;
  if (isNothingYet || (known?.url === url && known.disabled === disabled)) return null;
  const notice = changed({ kind: 'webhook_endpoint', endpointId, set: { url, disabled } });
  const wasReached = known !== null && known.url !== null && !known.disabled && (known.url !== url || disabled);
  const former = wasReached ? formerEndpointId(endpointId, known.moves + 1) : null;
  if (isDefault) return { notice, formerDefault: former, further: [] };
  return { notice, formerDefault: null, further: former === null ? [] : [former] };
}

/** A further endpoint that hears of what is to become of it, while it can. */
function concerned(change: GuardedChange, { endpoint, furtherEndpoints }: MerchantContext): string[] {
  if (change.kind !== 'webhook_endpoint' || change.endpointId === endpoint?.endpointId) return [];
  return furtherEndpoints[change.endpointId]?.disabled === false ? [change.endpointId] : [];
}
