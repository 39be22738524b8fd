import type { GuardedChange, MerchantPolicy } from '../events/merchant-events.ts';
import type { NotificationId } from '../values/ids.ts';
import type { SettingsType } from './types.ts';

/** What a merchant is told about a change of its settings. */
export interface SettingsNotice {
  readonly type: SettingsType;
  readonly status: 'changed' | 'scheduled' | 'withdrawn' | 'refused';
  readonly change: GuardedChange;
  /** Null for a change that took effect without waiting. */
  readonly changeId: string | null;
  readonly takesEffectAtSec: number;
  readonly changedBy: 'merchant' | 'operator';
  /** Why the change is no longer possible. */
  readonly refusal: string | null;
}

export const SETTING_KINDS = [
  'webhook_endpoint',
  'policy',
  'settlement_address',
  'change_delay',
] as const satisfies readonly GuardedChange['kind'][];

/** `data.object` of a settings event; each kind has only its own fields. */
export interface SettingsObject {
  readonly setting: GuardedChange['kind'];
  readonly status: SettingsNotice['status'];
  readonly change_id: string | null;
  readonly takes_effect_at: number;
  readonly changed_by: SettingsNotice['changedBy'];
  readonly change: ChangeObject;
  readonly refusal?: string;
}

type WireValue = string | number | boolean | null | readonly string[];
export type ChangeObject = Readonly<Record<string, WireValue>>;

/** The policy field names that merchants know. */
export const POLICY_NAMES = {
  settlementCoin: 'settlement_currency',
  networks: 'networks',
  offerBothCoins: 'offer_both_coins',
  offerTronUsdc: 'offer_tron_usdc',
  tolerance: 'tolerance',
  tolerancePercent: 'tolerance_percent',
  sessionTtlSec: 'session_ttl_seconds',
  ethereumFinalizedFrom: 'ethereum_finalized_from',
  ethereumConfirmations: 'ethereum_confirmations',
  serviceFeeBasisPoints: 'service_fee_basis_points',
  contact: 'contact',
} as const satisfies Record<keyof MerchantPolicy, string>;

const ENDPOINT_NAMES = {
  url: 'url',
  disabled: 'disabled',
  events: 'events',
  fields: 'fields',
  durableRedelivery: 'durable_redelivery',
  standardWebhooks: 'standard_webhooks',
} as const satisfies Record<keyof Extract<GuardedChange, { kind: 'webhook_endpoint' }>['set'], string>;

/** The fields that a change sets, under the names merchants know. Who approved it is not disclosed. */
export function changeObject(change: GuardedChange): ChangeObject {
  switch (change.kind) {
    case 'webhook_endpoint':
      return { endpoint_id: change.endpointId, ...named(change.set, ENDPOINT_NAMES) };
    case 'policy':
      return named(change.policy, POLICY_NAMES);
    case 'settlement_address':
      return { network: change.network, address: change.address };
    case 'change_delay':
      return { minutes: change.minutes };
  }
}

function named<Given extends object>(given: Given, names: Readonly<Record<string, string>>): ChangeObject {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [[names[name] ?? name, value as WireValue]],
    ),
  );
}

/** The exact bytes that every receiver of the notice gets. */
export function settingsBody(id: NotificationId, atMs: number, notice: SettingsNotice): string {
  const { type, status, change, changeId, takesEffectAtSec, changedBy, refusal } = notice;
  const object: SettingsObject = {
    ...{ setting: change.kind, status, change_id: changeId, takes_effect_at: takesEffectAtSec, changed_by: changedBy },
    change: changeObject(change),
    ...(refusal !== null && { refusal }),
  };
  return JSON.stringify({ id, type, created_at: Math.floor(atMs / 1000), data: { object } });
}

const SAMPLE_STATUS = {
  'settings.changed': 'changed',
  'settings.change_scheduled': 'scheduled',
  'settings.change_withdrawn': 'withdrawn',
} as const;

/** A notice as a merchant would receive it, for testing an endpoint. */
export function sampleSettingsBody(type: SettingsType, id: NotificationId, atMs: number): string {
  return settingsBody(id, atMs, {
    type,
    status: SAMPLE_STATUS[type],
    change: { kind: 'webhook_endpoint', endpointId: 'we_sample', set: { url: 'https://new.example/webhooks' } },
    changeId: type === 'settings.changed' ? null : 'chg_sample',
    takesEffectAtSec: Math.floor(atMs / 1000) + (type === 'settings.changed' ? 0 : 3_600),
    changedBy: 'merchant',
    refusal: null,
  });
}
