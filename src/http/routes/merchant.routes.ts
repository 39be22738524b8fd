import type { MerchantPolicy } from '../../domain/events/merchant-events.ts';
import { POLICY_NAMES } from '../../domain/notifications/settings-notices.ts';
import type { PendingChangeBody } from '../schemas/settings.schema.ts';
import { isCoin } from '../../domain/money/money.ts';
import type { Caller } from '../../features/shared/merchant-api.ts';
import type { Merchants } from '../../features/merchants/merchants.ts';
import type { MerchantOverview, PendingChangeOverview, WebhookOverview } from '../../features/merchants/overview.ts';
import { NOT_FOUND, answer, type Answer } from '../answer.ts';
import { route, type Operation, type Route } from '../operation.ts';
import { CHANGE_MERCHANT_EXAMPLE, MERCHANT_EXAMPLE } from '../schemas/merchant.example.ts';
import {
  changeMerchantBody,
  merchant,
  type ChangeMerchantBody,
  type MerchantBody,
  type WebhookEndpointBody,
} from '../schemas/merchant.schema.ts';

/** The settings that a merchant's API key may read and change. */
export type OwnSettings = Pick<
  Merchants,
  'getMerchant' | 'setPolicy' | 'setLogo' | 'setWebhook' | 'addDomain' | 'removeDomain'
>;

const getMerchantOperation = {
  id: 'getMerchant',
  method: 'get',
  path: '/v1/merchant',
  tag: 'Merchant',
  scope: 'settings:manage',
  summary: 'Get the settings of the merchant',
  description: 'Secrets are never included: they are shown once, when they are issued.',
  response: merchant,
  errors: ['invalid_request', 'not_found'],
  example: { response: MERCHANT_EXAMPLE },
} as const satisfies Operation;

const changeMerchantOperation = {
  id: 'changeMerchant',
  method: 'patch',
  path: '/v1/merchant',
  tag: 'Merchant',
  scope: 'settings:manage',
  fieldScopes: { webhook: 'webhooks:manage' },
  summary: 'Change settings of the merchant',
  description:
    'Changes only the given fields, in this order: policy, logo, webhook, domains. If one is refused, those before it stay in force. If `change_delay_minutes` is above 0, delayed changes are listed in `pending_changes`.',
  body: changeMerchantBody,
  bodyRequired: true,
  response: merchant,
  errors: ['invalid_request', 'unknown_field', 'not_found', 'conflict'],
  example: { body: CHANGE_MERCHANT_EXAMPLE, response: MERCHANT_EXAMPLE },
} as const satisfies Operation;

export function merchantRoutes(settings: OwnSettings): Route[] {
  const current = (caller: Caller): Answer => {
    const overview = settings.getMerchant(caller.merchantId);
    return overview === null ? NOT_FOUND : answer(presentMerchant(overview));
  };
  return [
    route(getMerchantOperation, async ({ caller }) => current(caller)),
    route(
      changeMerchantOperation,
      async ({ caller, body }) => (await firstRefusal(settings, caller, body)) ?? current(caller),
    ),
  ];
}

/** Executes the changes until one is refused; null if none was. */
async function firstRefusal(
  settings: OwnSettings,
  caller: Caller,
  body: ChangeMerchantBody,
): Promise<(Answer & { ok: false }) | null> {
  const by = { actor: `merchant:${caller.merchantId}`, correlationId: caller.requestId };
  const policy = policyOf(body);
  if (Object.keys(policy).length > 0) {
    const done = await settings.setPolicy(caller.merchantId, policy, by);
    if (!done.ok)
      return {
        ...done,
        refusal: { ...done.refusal, ...(done.refusal.param && { param: wireName(done.refusal.param) }) },
      };
  }
  if (body.logo !== undefined) {
    const done = await settings.setLogo(caller.merchantId, body.logo, by);
    if (!done.ok) return done;
  }
  if (body.webhook) {
    const { url } = body.webhook;
    const change = { ...choiceOf(body.webhook), ...(url !== undefined && { url }) };
    const done = await settings.setWebhook(caller.merchantId, change, by);
    if (!done.ok)
      return {
        ...done,
        refusal: {
          ...done.refusal,
          param: `webhook.${done.refusal.param ?? 'url'}`,
          message: `webhook.${done.refusal.message}`,
        },
      };
  }
  return body.domains ? replaceDomains(settings, caller, body.domains, by) : null;
}

async function replaceDomains(
  settings: OwnSettings,
  caller: Caller,
  wanted: NonNullable<ChangeMerchantBody['domains']>,
  by: { readonly actor: string; readonly correlationId: string },
): Promise<(Answer & { ok: false }) | null> {
  const kept = new Set<string>();
  for (const [index, domain] of wanted.entries()) {
    const done = await settings.addDomain(caller.merchantId, domain, by);
    if (!done.ok)
      return { ...done, refusal: { ...done.refusal, param: `domains[${index}].${done.refusal.param ?? 'host'}` } };
    kept.add(done.value.domain_id);
  }
  for (const { domain_id: domainId } of settings.getMerchant(caller.merchantId)?.domains ?? []) {
    if (kept.has(domainId)) continue;
    const done = await settings.removeDomain(caller.merchantId, domainId, by);
    if (!done.ok) return done;
  }
  return null;
}

/** The public name of the field. */
const wireName = (field: string): string => (POLICY_NAMES as Readonly<Record<string, string>>)[field] ?? field;

function policyOf(body: ChangeMerchantBody): Partial<MerchantPolicy> {
  const settlementCoin = body.settlement_currency?.toUpperCase();
  return {
    ...(settlementCoin !== undefined && isCoin(settlementCoin) && { settlementCoin }),
    ...(body.networks !== undefined && { networks: body.networks }),
    ...(body.offer_tron_usdc !== undefined && { offerTronUsdc: body.offer_tron_usdc }),
    ...(body.offer_both_coins !== undefined && { offerBothCoins: body.offer_both_coins }),
    ...(body.tolerance !== undefined && { tolerance: body.tolerance }),
    ...(body.tolerance_percent !== undefined && { tolerancePercent: body.tolerance_percent }),
    ...(body.contact !== undefined && { contact: body.contact }),
    ...(body.session_ttl_seconds !== undefined && { sessionTtlSec: body.session_ttl_seconds }),
    ...(body.ethereum_finalized_from !== undefined && { ethereumFinalizedFrom: body.ethereum_finalized_from }),
    ...(body.ethereum_confirmations !== undefined && { ethereumConfirmations: body.ethereum_confirmations }),
  };
}

/** The given settings of an endpoint. */
export function choiceOf(body: Omit<NonNullable<ChangeMerchantBody['webhook']>, 'url'>) {
  const { durable_redelivery: durableRedelivery, events, fields, standard_webhooks: standardWebhooks } = body;
  return {
    ...(durableRedelivery !== undefined && { durableRedelivery }),
    ...(events && { events }),
    ...(fields && { fields }),
    ...(standardWebhooks !== undefined && { standardWebhooks }),
  };
}

export function presentEndpoint({ endpoint_id: id, events, fields, ...rest }: WebhookOverview): WebhookEndpointBody {
  return { id, ...rest, events: [...events], fields: [...fields] };
}

/** Hides which of the operator's people requested it. */
export const presentChange = ({
  change_id: id,
  requested_by: _by,
  change,
  ...rest
}: PendingChangeOverview): PendingChangeBody => ({
  id,
  ...rest,
  change: change as PendingChangeBody['change'],
});

function presentMerchant({ id, name, mode, policy, logo, webhook, domains, ...rest }: MerchantOverview): MerchantBody {
  return {
    id,
    name,
    mode,
    settlement_currency: policy.settlementCoin,
    networks: [...policy.networks],
    offer_both_coins: policy.offerBothCoins ?? false,
    offer_tron_usdc: policy.offerTronUsdc,
    tolerance: policy.tolerance,
    tolerance_percent: policy.tolerancePercent ?? null,
    contact: policy.contact ?? null,
    session_ttl_seconds: policy.sessionTtlSec,
    ethereum_finalized_from: policy.ethereumFinalizedFrom,
    ethereum_confirmations: policy.ethereumConfirmations,
    logo,
    webhook: webhook && presentEndpoint(webhook),
    domains: domains.map((domain) => ({ id: domain.domain_id, host: domain.host, name: domain.name })),
    change_delay_minutes: rest.change_delay_minutes,
    pending_changes: rest.pending_changes.map(presentChange),
  };
}
