import { isScope, SCOPES, type KeyRestrictions, type Scope } from '../../domain/api-keys.ts';
import type { MerchantPolicy } from '../../domain/events/merchant-events.ts';
import { parseApiKeyId, type ApiKeyId, type SessionId } from '../../domain/values/ids.ts';
import { isCoin, parseAmount } from '../../domain/money/money.ts';
import { isNetwork } from '../../domain/networks/networks.ts';
import { basisPointsOf } from '../../domain/money/percent.ts';
import type { SandboxPayRequest, SandboxTransfer } from '../../http/routes/sandbox.routes.ts';
import { SANDBOX_CASES } from '../../http/schemas/sandbox.schema.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EventStore } from '../../ports/event-log/event-store.ts';
import type { Random } from '../../ports/random.ts';
import { MAX_SERVICE_FEE_BASIS_POINTS } from '../../../state-machines/merchant/merchant.state.ts';
import type { Outcome } from '../../features/shared/merchant-api.ts';
import type { Merchants } from '../../features/merchants/merchants.ts';
import type { MerchantOverview, WebhookOverview } from '../../features/merchants/overview.ts';
import { type RunningProjections } from '../../runtime/projections/runner.ts';
import { RebuildRunning } from '../../runtime/projections/status.ts';
import type { PersonalData } from '../../features/shared/personal-data.ts';
import { actorOf, withRecordedActs } from '../server/acts.ts';
import {
  accepted,
  type AdminArguments,
  type AdminCommands,
  json,
  optionalText,
  refused,
  requiredMode,
  merchantIn,
  requiredText,
} from '../server/commands.ts';
import { explainSession, type ExplainParts } from './explain.ts';
import { forgetSession, sessionIdOf } from './forget.ts';
import { networkOf, optionalCoin } from '../treasury/arguments.ts';
import { optionalWhole, requiredWhole } from '../server/whole-number.ts';

/** Pays a session from the sandbox's own wallet. */
interface TestWallet {
  pay(id: SessionId, request: Omit<SandboxPayRequest, 'sessionId'>): Promise<Outcome<readonly SandboxTransfer[]>>;
}

/** What the operator's commands work on; parts that a running mode lacks are null, and their commands say so. */
export interface AdminParts extends Omit<ExplainParts, 'store'> {
  readonly core: { readonly merchants: Merchants; readonly personal: Pick<PersonalData, 'erase'> };
  readonly store: EventStore;
  readonly clock: Clock;
  readonly random: Random;
  /** Null outside the sandbox. */
  readonly testWallet: TestWallet | null;
  readonly projections: Pick<RunningProjections, 'rebuild' | 'status' | 'ready'>;
  /** Further commands by name. */
  readonly more?: AdminCommands;
}

/** The operator's commands, by name. */
export function adminCommands(parts: AdminParts): AdminCommands {
  const { merchants } = parts.core;
  const ownCommands = {
    ...merchantCommands(merchants, parts.random),
    ...webhookCommands(merchants, parts.random),
    ...sessionCommands(parts),
    ...projectionCommands(parts),
  };
  return withRecordedActs({ ...ownCommands, ...parts.more }, parts);
}

function merchantCommands(merchants: Merchants, random: Random): AdminCommands {
  const by = byIn(random);
  return {
    'merchant.create': async (args) => {
      const webhookUrl = optionalText(args, 'webhookUrl');
      const input = {
        name: requiredText(args, 'name'),
        mode: requiredMode(args),
        ...(webhookUrl !== undefined && { webhookUrl }),
      };
      return json(accepted(await merchants.registerMerchant(input, by(args))));
    },
    'merchant.list': async () => json(merchants.listMerchants().map(({ id, name, mode }) => ({ id, name, mode }))),
    'merchant.show': async (args) => json(shownIn(merchants, args)),
    'merchant.add-domain': async (args) =>
      json(
        accepted(
          await merchants.addDomain(
            merchantIn(args),
            { host: requiredText(args, 'host'), name: requiredText(args, 'name') },
            by(args),
          ),
        ),
      ),
    'merchant.remove-domain': async (args) =>
      json(accepted(await merchants.removeDomain(merchantIn(args), requiredText(args, 'domain_id'), by(args)))),
    'merchant.set-policy': async (args) =>
      json(accepted(await merchants.setPolicy(merchantIn(args), policyOf(args), by(args)))),
    'merchant.set-logo': async (args) => {
      const image = requiredText(args, 'image');
      return json(accepted(await merchants.setLogo(merchantIn(args), image === 'none' ? null : image, by(args))).logo);
    },
    'merchant.set-change-delay': async (args) => {
      const minutes = requiredText(args, 'minutes') === 'default' ? null : requiredWhole(args, 'minutes');
      return json(accepted(await merchants.setChangeDelay(merchantIn(args), minutes, by(args))));
    },
    'merchant.changes': async (args) => json(shownIn(merchants, args).pending_changes),
    'merchant.withdraw-change': async (args) =>
      json(
        accepted(await merchants.withdrawChange(merchantIn(args), requiredText(args, 'change_id'), by(args)))
          .pending_changes,
      ),
    'key.issue': async (args) =>
      json(accepted(await merchants.issueKey(merchantIn(args), restrictionsOf(args), by(args)))),
    'key.list': async (args) => json(shownIn(merchants, args).keys),
    'key.restrict': async (args) => {
      const keyId = keyOf(args);
      const { keys } = accepted(await merchants.restrictKey(merchantIn(args), keyId, restrictionsOf(args), by(args)));
      return json(keys.find((key) => key.key_id === keyId));
    },
    'key.revoke': async (args) => json(accepted(await merchants.revokeKey(merchantIn(args), keyOf(args), by(args)))),
  };
}

/** The actor recorded in every event of the command. */
const byIn = (random: Random) => (args: AdminArguments) => ({ actor: actorOf(args), correlationId: random.uuid() });

function webhookCommands(merchants: Merchants, random: Random): AdminCommands {
  const by = byIn(random);
  return {
    'webhook.set': async (args) =>
      json(accepted(await merchants.setWebhook(merchantIn(args), webhookOf(args), by(args)))),
    'webhook.rotate': async (args) =>
      args.activate === true
        ? json(
            endpointIn(
              args,
              accepted(await merchants.activateWebhookSecret(merchantIn(args), by(args), endpointIdOf(args))),
            ),
          )
        : json(accepted(await merchants.issueWebhookSecret(merchantIn(args), by(args), undefined, endpointIdOf(args)))),
    'webhook.resume': async (args) =>
      json(endpointIn(args, accepted(await merchants.resumeWebhook(merchantIn(args), by(args), endpointIdOf(args))))),
    'webhook.list': async (args) => {
      const { webhook, further_webhooks: further } = shownIn(merchants, args);
      return json([...(webhook ? [webhook] : []), ...further]);
    },
    'webhook.add': async (args) => {
      const url = requiredText(args, 'url');
      const { durableRedelivery = false, standardWebhooks = false, events = [], fields = [] } = webhookOf(args);
      return json(
        accepted(
          await merchants.addWebhook(
            merchantIn(args),
            { url, durableRedelivery, standardWebhooks, events, fields },
            by(args),
          ),
        ),
      );
    },
  };
}

const endpointIdOf = (args: AdminArguments): string | undefined => optionalText(args, 'endpoint');

/** The named endpoint, otherwise the default one. */
function endpointIn(
  args: AdminArguments,
  { webhook, further_webhooks: further }: MerchantOverview,
): WebhookOverview | null {
  const named = endpointIdOf(args);
  return further.find(({ endpoint_id: id }) => id === named) ?? webhook;
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

const scopeNamed = (text: string): Scope =>
  isScope(text) ? text : refused(`scopes must name some of ${SCOPES.join(', ')}, each once`);

const keyOf = (args: AdminArguments): ApiKeyId => parseApiKeyId(requiredText(args, 'key_id')) ?? refused('no such key');

/** Restrictions that are not named stay; `all` and `any` remove one. */
export function restrictionsOf(args: AdminArguments): Partial<KeyRestrictions> {
  const [scopes, addresses, version] = (['scopes', 'addresses', 'signatureVersion'] as const).map((name) =>
    optionalText(args, name),
  );
  if (version !== undefined && version !== '1' && version !== '2') return refused('signature-version must be 1 or 2');
  return {
    ...(scopes !== undefined && { scopes: scopes === 'all' ? null : listOf(scopes).map(scopeNamed) }),
    ...(addresses !== undefined && { addresses: addresses === 'any' ? [] : listOf(addresses) }),
    ...(version !== undefined && { signatureVersion: version === '2' ? 2 : 1 }),
  };
}

/** With a URL the endpoint is configured anew; events alone leave the rest unchanged. */
function webhookOf(args: AdminArguments): Parameters<Merchants['setWebhook']>[1] {
  const [events, fields, endpointId, disabled] = (['events', 'fields', 'endpoint', 'disabled'] as const).map((name) =>
    optionalText(args, name),
  );
  if (disabled !== undefined && disabled !== 'yes' && disabled !== 'no') return refused('disabled must be yes or no');
  const isUrlNeeded = [events, fields, disabled].every((one) => one === undefined);
  const url = isUrlNeeded ? requiredText(args, 'url') : optionalText(args, 'url');
  return {
    ...(endpointId !== undefined && { endpointId }),
    ...(url !== undefined && { url, durableRedelivery: args.durableRedelivery === true }),
    ...(url === undefined && args.durableRedelivery === true && { durableRedelivery: true }),
    ...(args.standardWebhooks !== undefined && { standardWebhooks: args.standardWebhooks === true }),
    ...(events !== undefined && { events: events === 'none' ? [] : listOf(events) }),
    ...(fields !== undefined && { fields: fields === 'none' ? [] : listOf(fields) }),
    ...(disabled !== undefined && { disabled: disabled === 'yes' }),
  };
}

function sessionCommands(parts: AdminParts): AdminCommands {
  const { core, store, testWallet, clock, random } = parts;
  return {
    'session.explain': (args) => explainSession(parts, args),
    'session.forget': (args) => forgetSession({ store, clock, random, erase: (id) => core.personal.erase(id) }, args),
    'sandbox.pay': async (args) => {
      if (!testWallet) return refused('test wallet payments exist only in the sandbox');
      const transfers = accepted(await testWallet.pay(sessionIdOf(args), payRequestOf(args)));
      return json({
        transfers: transfers.map(({ network, coin, amount, fromAddress, toAddress, txHash }) => ({
          network,
          coin,
          amount,
          from_address: fromAddress,
          to_address: toAddress,
          tx_hash: txHash,
        })),
      });
    },
  };
}

function payRequestOf(args: AdminArguments): Omit<SandboxPayRequest, 'sessionId'> {
  const network = networkOf(requiredText(args, 'network'));
  const coin = optionalCoin(args);
  const amount = optionalText(args, 'amount');
  const kind = SANDBOX_CASES.find((name) => name === (optionalText(args, 'case') ?? 'exact'));
  if (amount !== undefined && !parseAmount(amount))
    return refused('amount must be a decimal amount above zero, such as 10.00');
  if (kind === undefined) return refused(`case must be one of ${SANDBOX_CASES.join(', ')}`);
  return { network, case: kind, ...(coin !== undefined && { coin }), ...(amount !== undefined && { amount }) };
}

function projectionCommands({ projections }: AdminParts): AdminCommands {
  return {
    'projection.rebuild': async (args) => {
      const known = projections.status().map(({ projection }) => projection);
      const asked = optionalText(args, 'name');
      const wanted = known.filter((id) => asked === undefined || id === asked || id.startsWith(`${asked}@`));
      if (wanted.length === 0) return refused(`name must be one of ${known.join(', ')}`);
      try {
        await projections.rebuild(wanted);
      } catch (error) {
        if (error instanceof RebuildRunning) return refused(error.message);
        throw error;
      }
      await projections.ready();
      return { rebuilt: wanted };
    },
  };
}

const shownIn = (merchants: Merchants, args: AdminArguments): MerchantOverview =>
  merchants.getMerchant(merchantIn(args)) ?? refused('no such merchant');

/** What `merchant set-policy` accepts, by option name. Throws `CommandRefused`. */
export function policyOf(args: AdminArguments): Partial<MerchantPolicy> {
  const policy: { -readonly [Key in keyof MerchantPolicy]?: MerchantPolicy[Key] } = {};
  const coin = optionalText(args, 'settlementCoin');
  if (coin !== undefined) policy.settlementCoin = isCoin(coin) ? coin : refused('settlement-coin must be USDT or USDC');
  const networks = optionalText(args, 'networks')
    ?.split(',')
    .map((name) => name.trim());
  if (networks)
    policy.networks = networks.every(isNetwork)
      ? networks
      : refused('networks must name ethereum, bsc, tron or solana');
  const tolerance = optionalText(args, 'tolerance');
  if (tolerance !== undefined) policy.tolerance = tolerance;
  const share = optionalText(args, 'tolerancePercent');
  if (share !== undefined) policy.tolerancePercent = share === 'none' ? null : share;
  const contact = optionalText(args, 'contact');
  if (contact !== undefined) policy.contact = contact === 'none' ? null : contact;
  const lifetime = optionalWhole(args, 'sessionTtl', { shown: 'session-ttl' });
  if (lifetime !== undefined) policy.sessionTtlSec = lifetime;
  const confirmations = optionalWhole(args, 'ethereumConfirmations', { shown: 'ethereum-confirmations' });
  if (confirmations !== undefined) policy.ethereumConfirmations = confirmations;
  const from = optionalText(args, 'ethereumFinalizedFrom');
  if (from !== undefined) policy.ethereumFinalizedFrom = from;
  const tronUsdc = optionalText(args, 'offerTronUsdc');
  if (tronUsdc !== undefined) policy.offerTronUsdc = trueOrFalse(tronUsdc, 'offer-tron-usdc');
  const bothCoins = optionalText(args, 'offerBothCoins');
  if (bothCoins !== undefined) policy.offerBothCoins = trueOrFalse(bothCoins, 'offer-both-coins');
  const serviceFee = optionalText(args, 'serviceFee');
  if (serviceFee !== undefined) policy.serviceFeeBasisPoints = basisPoints(serviceFee, 'service-fee');
  return policy;
}

const trueOrFalse = (text: string, name: string): boolean =>
  text === 'true' || (text === 'false' ? false : refused(`${name} must be true or false`));

/** A percentage in hundredths of a percent. */
function basisPoints(percent: string, name: string): number {
  const points = basisPointsOf(percent);
  if (points === null || points > MAX_SERVICE_FEE_BASIS_POINTS)
    return refused(
      `${name} must be a percentage from 0 to ${MAX_SERVICE_FEE_BASIS_POINTS / 100} with at most 2 decimals, such as 0.5`,
    );
  return points;
}
