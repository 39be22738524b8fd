import { formerEndpointId } from '../../src/domain/notifications/delivery-ids.ts';
import type { GuardedChange, MerchantEvent, WebhookEndpointSet } from '../../src/domain/events/merchant-events.ts';
import type { SettingsNotice } from '../../src/domain/notifications/settings-notices.ts';
import { endpointIn, type MerchantContext } from './merchant.state.ts';

/** The notice of an event, and the endpoints that receive it besides the default one. */
export interface AddressedNotice {
  readonly notice: SettingsNotice;
  /** Where the default endpoint's copy goes: null for the default endpoint itself, otherwise its former URL. */
  readonly formerDefault: string | null;
  /** Additional endpoints that the change concerns, or their former URLs. */
  readonly further: readonly string[];
}

/** Merchant events that may cause a notification and therefore get a public id. */
export const SETTINGS_EVENTS: ReadonlySet<string> = new Set<MerchantEvent['type']>([
  'WebhookEndpointSet',
  'PolicySet',
  'SettlementAddressSet',
  'ChangeDelaySet',
  'MerchantChangeScheduled',
  'MerchantChangeWithdrawn',
  'MerchantChangeApplied',
]);

/** Null if there is nothing to report. */
export function settingsNoticeOf(
  event: MerchantEvent,
  before: MerchantContext,
  { atSec, actor }: { atSec: number; actor: string },
): AddressedNotice | null {
  const changedBy = actor.startsWith('merchant:') ? 'merchant' : 'operator';
  const changed = (change: GuardedChange): SettingsNotice => ({
    type: 'settings.changed',
    status: 'changed',
    change,
    changeId: null,
    takesEffectAtSec: atSec,
    changedBy,
    refusal: null,
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
      // A change that took effect is reported by its own event.
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
  // The first URL of an account diverts nothing, and an unused endpoint is reported once it is in use.
  const isNothingYet = isDefault ? (known?.url ?? null) === null : known === null && disabled;
  if (isNothingYet || (known?.url === url && known.disabled === disabled)) return null;
  const notice = changed({ kind: 'webhook_endpoint', endpointId, set: { url, disabled } });
  const wasReached = known !== null && known.url !== null && !known.disabled && (known.url !== url || disabled);
  const former = wasReached ? formerEndpointId(endpointId, known.moves + 1) : null;
  if (isDefault) return { notice, formerDefault: former, further: [] };
  return { notice, formerDefault: null, further: former === null ? [] : [former] };
}

/** An additional endpoint is notified of its own change while it can still be reached. */
function concerned(change: GuardedChange, { endpoint, furtherEndpoints }: MerchantContext): string[] {
  if (change.kind !== 'webhook_endpoint' || change.endpointId === endpoint?.endpointId) return [];
  return furtherEndpoints[change.endpointId]?.disabled === false ? [change.endpointId] : [];
}
