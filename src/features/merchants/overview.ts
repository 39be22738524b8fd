import type { Scope, SignatureVersion } from '../../domain/api-keys.ts';
import type { GuardedChange, MerchantChangeScheduled, MerchantPolicy } from '../../domain/events/merchant-events.ts';
import { withFloor, type FinalityFloor } from '../../domain/networks/finality-floor.ts';
import type { ApiKeyId, MerchantId, Mode } from '../../domain/values/ids.ts';
import type { NotificationField, NotificationType } from '../../domain/notifications/types.ts';
import { changeObject, type ChangeObject } from '../../domain/notifications/settings-notices.ts';
import { changeDelayMin } from '../../../state-machines/merchant/changes.decider.ts';
import type { MerchantState } from '../../../state-machines/merchant/merchant.decider.ts';
import { mainSecret, type EndpointState, type KeyState } from '../../../state-machines/merchant/merchant.state.ts';
import { logoOverview, type LogoOverview } from './logo.ts';
import { must } from '../../domain/values/must.ts';

/* Merchants as their settings are shown, without secrets. */

/** An API key without its secrets. */
export interface KeyOverview {
  readonly key_id: ApiKeyId;
  readonly hint: string;
  readonly revoked: boolean;
  /** Null: all scopes. */
  readonly scopes: readonly Scope[] | null;
  /** Empty: any address. */
  readonly addresses: readonly string[];
  readonly signature_version: SignatureVersion;
  /** Exact to the second on the node that served the request, to the day elsewhere; null before the first use. */
  readonly last_used_at: number | null;
}

/** A merchant's settings without any secret. */
export interface MerchantOverview {
  readonly id: MerchantId;
  readonly name: string;
  readonly mode: Mode;
  readonly keys: readonly KeyOverview[];
  /** The default endpoint. */
  readonly webhook: WebhookOverview | null;
  readonly further_webhooks: readonly WebhookOverview[];
  readonly domains: readonly { readonly domain_id: string; readonly host: string; readonly name: string }[];
  /** The effective policy, limited by the operator's bounds. */
  readonly policy: MerchantPolicy;
  readonly logo: LogoOverview | null;
  /** Delay of guarded changes. */
  readonly change_delay_minutes: number;
  /** In the order of the requests. */
  readonly pending_changes: readonly PendingChangeOverview[];
}

export interface WebhookOverview {
  readonly endpoint_id: string;
  readonly url: string | null;
  readonly durable_redelivery: boolean;
  readonly events: readonly NotificationType[];
  readonly fields: readonly NotificationField[];
  readonly standard_webhooks: boolean;
  readonly disabled: boolean;
  readonly suspended: 'only_failures' | 'gone' | null;
  /** When an issued secret takes over the main header; null if none is pending. */
  readonly next_secret_activates_at: number | null;
}

/** A change that was requested and is not in force yet. */
export interface PendingChangeOverview {
  readonly change_id: string;
  readonly setting: GuardedChange['kind'];
  readonly change: ChangeObject;
  readonly requested_by: string;
  readonly requested_at: number;
  readonly takes_effect_at: number;
}

export interface OverviewParts {
  readonly nowSec: number;
  readonly lastUseOf: (key: KeyState) => number | null;
  readonly floor: FinalityFloor;
  readonly installationDelayMin: number;
}

export function overviewOf(
  { context }: MerchantState,
  { nowSec, lastUseOf, floor, installationDelayMin }: OverviewParts,
): MerchantOverview {
  const { merchantId, name, mode } = must(context.registered);
  return {
    id: merchantId,
    name,
    mode,
    keys: Object.values(context.keys).map((key) => keyOverview(key, lastUseOf(key))),
    webhook: context.endpoint && webhookOverview(context.endpoint, nowSec),
    further_webhooks: Object.values(context.furtherEndpoints).map((endpoint) => webhookOverview(endpoint, nowSec)),
    domains: Object.values(context.domains).map(({ domainId, host, shopName }) => ({
      domain_id: domainId,
      host,
      name: shopName,
    })),
    policy: withFloor(context.policy, floor),
    logo: context.logo && logoOverview(context.logo),
    change_delay_minutes: changeDelayMin(context, installationDelayMin),
    pending_changes: Object.values(context.pendingChanges).map(pendingOverview),
  };
}

function keyOverview({ issued, revoked, restrictions }: KeyState, lastUsedAt: number | null): KeyOverview {
  const { scopes, addresses, signatureVersion } = restrictions;
  return {
    key_id: issued.keyId,
    hint: issued.hint,
    revoked,
    scopes,
    addresses,
    signature_version: signatureVersion,
    last_used_at: lastUsedAt,
  };
}

function webhookOverview(endpoint: EndpointState, nowSec: number): WebhookOverview {
  const waits = endpoint.next !== null && mainSecret(endpoint, nowSec) !== endpoint.next;
  return {
    endpoint_id: endpoint.endpointId,
    url: endpoint.url,
    durable_redelivery: endpoint.durableRedelivery,
    events: endpoint.events,
    fields: endpoint.fields,
    standard_webhooks: endpoint.standardWebhooks,
    disabled: endpoint.disabled,
    suspended: endpoint.suspended,
    next_secret_activates_at: waits ? endpoint.next.activatesAtSec : null,
  };
}

const pendingOverview = (pending: MerchantChangeScheduled['data']): PendingChangeOverview => ({
  change_id: pending.changeId,
  setting: pending.change.kind,
  change: changeObject(pending.change),
  requested_by: pending.requestedBy,
  requested_at: pending.requestedAtSec,
  takes_effect_at: pending.takesEffectAtSec,
});
