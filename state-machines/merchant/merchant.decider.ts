import { isScope, SCOPES, type KeyRestrictions } from '../../src/domain/api-keys.ts';
import type { ApiKeyIssued, Logo, MerchantEvent, MerchantPolicy } from '../../src/domain/events/merchant-events.ts';
import type { ApiKeyId } from '../../src/domain/values/ids.ts';
import { COIN_MAX_DECIMALS } from '../../src/domain/money/currencies.ts';
import type { FinalityFloor } from '../../src/domain/networks/finality-floor.ts';
import { amountOf, decimalsOf, isCoin, parseAmount } from '../../src/domain/money/money.ts';
import { contactLink } from '../../src/domain/contact.ts';
import { isNetwork } from '../../src/domain/networks/networks.ts';
import { OUTCOME_TYPES } from '../../src/domain/notifications/types.ts';
import { basisPointsOf } from '../../src/domain/money/percent.ts';
import { lookOf } from '../../src/domain/values/names.ts';
import type { ToleranceBounds } from '../../src/domain/money/tolerance.ts';
import { accept, refuse, type Decision, type Refusal } from '../../src/domain/values/result.ts';
import { applyChange, decideChangeDelay, waiting, withdrawChange } from './changes.decider.ts';
import { decideEndpoint, NEW_ENDPOINT } from './endpoints.decider.ts';
import type { MerchantCommand } from './merchant.commands.ts';
import type { MerchantValue } from './merchant.machine.ts';
import { activeKeys, MAX_SERVICE_FEE_BASIS_POINTS, merchantIdOf, type MerchantContext } from './merchant.state.ts';

export interface MerchantState {
  readonly value: MerchantValue;
  readonly context: MerchantContext;
}

const MAX_ACTIVE_KEYS = 50;
/** Revoked ones too: the record of what each could do stays. */
const MAX_KEYS = 1_000;
const MAX_DOMAINS = 100;
const MAX_ADDRESSES = 100;
const DAY_SEC = 86_400;
const MAX_NAME_LENGTH = 100;
const MAX_TTL_SEC = 30 * 86_400;
/** Ethereum finalises after about 64 to 96 blocks, so more confirmations have no effect. */
const MAX_CONFIRMATIONS = 96;

/** Decides the commands of a merchant. Repeating a command adds no events. */
export function decideMerchant(command: MerchantCommand, state: MerchantState): Decision<MerchantEvent> {
  const decision = decideAtOnce(command, state);
  return 'wait' in command && command.wait !== undefined
    ? waiting(command.wait, command, decision, state.context)
    : decision;
}

function decideAtOnce(command: MerchantCommand, state: MerchantState): Decision<MerchantEvent> {
  if (command.type === 'RegisterMerchant') return register(command, state);
  if (state.context.registered === null) return refuse('not_found', 'no such merchant');
  switch (command.type) {
    case 'IssueKey':
      return issueKey(command.key, state.context);
    case 'RestrictKey':
      return restrictKey(command, state.context);
    case 'NoteKeyUse':
      return noteKeyUse(command, state.context);
    case 'RevokeKey':
      return revokeKey(command.keyId, state.context);
    case 'AddEndpoint':
    case 'SetWebhook':
    case 'IssueWebhookSecret':
    case 'ActivateWebhookSecret':
    case 'SuspendEndpoint':
    case 'ResumeEndpoint':
      return decideEndpoint(command, state.context);
    case 'AddDomain':
      return addDomain(command, state.context);
    case 'RemoveDomain':
      return removeDomain(command.domainId, state.context);
    case 'SetPolicy':
      return setPolicy(command, state.context);
    case 'SetLogo':
      return setLogo(command.logo, state.context);
    case 'SetSettlementAddress':
      return setSettlementAddress(command, state.context);
    case 'SetChangeDelay':
      return decideChangeDelay(command, state.context);
    case 'WithdrawChange':
      return withdrawChange(command, state.context);
    case 'ApplyChange':
      return applyChange(command, state.context, (due) => decideAtOnce(due, state));
  }
}

type Of<Type extends MerchantCommand['type']> = Extract<MerchantCommand, { type: Type }>;

function register(
  { merchant, key, endpoint }: Of<'RegisterMerchant'>,
  { context }: MerchantState,
): Decision<MerchantEvent> {
  if (context.registered !== null)
    return context.registered.name === merchant.name ? accept() : refuse('conflict', 'the merchant id is taken');
  const fault = nameFault(merchant.name, 'name');
  if (fault) return { ok: false, refusal: fault };
  const { merchantId } = merchant;
  return accept<MerchantEvent>(
    { type: 'MerchantRegistered', data: merchant },
    { type: 'ApiKeyIssued', data: key },
    { type: 'WebhookEndpointSet', data: { merchantId, ...endpoint, ...NEW_ENDPOINT, events: OUTCOME_TYPES } },
  );
}

function issueKey(key: ApiKeyIssued['data'], context: MerchantContext): Decision<MerchantEvent> {
  if (Object.hasOwn(context.keys, key.keyId)) return accept();
  if (activeKeys(context).length >= MAX_ACTIVE_KEYS)
    return refuse('invalid_request', `a merchant has at most ${MAX_ACTIVE_KEYS} active keys; revoke one first`);
  if (Object.keys(context.keys).length >= MAX_KEYS)
    return refuse('invalid_request', `a merchant can be issued at most ${MAX_KEYS} keys, revoked ones included`);
  const fault = restrictionsFault(key.restrictions ?? {});
  return fault ? { ok: false, refusal: fault } : accept({ type: 'ApiKeyIssued', data: key });
}

function restrictKey(
  { keyId, restrictions: asked }: Of<'RestrictKey'>,
  context: MerchantContext,
): Decision<MerchantEvent> {
  const key = Object.hasOwn(context.keys, keyId) ? context.keys[keyId] : undefined;
  if (!key) return refuse('not_found', 'no such key', 'key_id');
  if (key.revoked) return refuse('conflict', 'the key is revoked', 'key_id');
  const fault = restrictionsFault(asked);
  if (fault) return { ok: false, refusal: fault };
  const restrictions = { ...key.restrictions, ...asked };
  if (JSON.stringify(restrictions) === JSON.stringify(key.restrictions)) return accept();
  return accept({ type: 'ApiKeyRestricted', data: { merchantId: merchantIdOf(context), keyId, restrictions } });
}

function restrictionsFault({ scopes, addresses, signatureVersion }: Partial<KeyRestrictions>): Refusal | null {
  if (scopes && (scopes.length === 0 || !scopes.every(isScope) || new Set(scopes).size !== scopes.length))
    return invalid('scopes', `scopes must name some of ${SCOPES.join(', ')}, each once`);
  if (addresses && (addresses.length > MAX_ADDRESSES || new Set(addresses).size !== addresses.length))
    return invalid('addresses', `addresses must name at most ${MAX_ADDRESSES} addresses or ranges, each once`);
  if (signatureVersion !== undefined && signatureVersion !== 1 && signatureVersion !== 2)
    return invalid('signature_version', 'signature_version must be 1 or 2');
  return null;
}

/** Once a day: more would fill the event log with data that nobody needs. */
function noteKeyUse({ keyId, atSec }: Of<'NoteKeyUse'>, context: MerchantContext): Decision<MerchantEvent> {
  const key = Object.hasOwn(context.keys, keyId) ? context.keys[keyId] : undefined;
  if (!key || key.revoked) return accept();
  if (key.usedAtSec !== null && Math.floor(atSec / DAY_SEC) <= Math.floor(key.usedAtSec / DAY_SEC)) return accept();
  return accept({ type: 'ApiKeyUsed', data: { merchantId: merchantIdOf(context), keyId, atSec } });
}

function revokeKey(keyId: ApiKeyId, context: MerchantContext): Decision<MerchantEvent> {
  const key = Object.hasOwn(context.keys, keyId) ? context.keys[keyId] : undefined;
  if (!key) return refuse('not_found', 'no such key', 'key_id');
  return key.revoked ? accept() : accept({ type: 'ApiKeyRevoked', data: { merchantId: merchantIdOf(context), keyId } });
}

const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

function addDomain({ domainId, host, shopName }: Of<'AddDomain'>, context: MerchantContext): Decision<MerchantEvent> {
  const domains = Object.values(context.domains);
  const fault = nameFault(shopName, 'name');
  if (fault) return { ok: false, refusal: fault };
  if (!HOST.test(host))
    return refuse(
      'invalid_request',
      'host must be a host name such as shop.example, without scheme, port or path',
      'host',
    );
  if (!host.includes('.') && !(host === 'localhost' && context.registered?.mode === 'test'))
    return refuse('invalid_request', 'host must be a full host name (localhost in test mode)', 'host');
  const known = domains.find((domain) => domain.host === host);
  if (known)
    return known.shopName === shopName
      ? accept()
      : refuse('invalid_request', `${host} is already registered; remove it first to rename the shop`, 'host');
  if (domains.length >= MAX_DOMAINS) return refuse('invalid_request', `a merchant has at most ${MAX_DOMAINS} domains`);
  return accept({ type: 'DomainAdded', data: { merchantId: merchantIdOf(context), domainId, host, shopName } });
}

function removeDomain(domainId: string, context: MerchantContext): Decision<MerchantEvent> {
  if (!Object.hasOwn(context.domains, domainId)) return refuse('not_found', 'no such domain', 'domain_id');
  return accept({ type: 'DomainRemoved', data: { merchantId: merchantIdOf(context), domainId } });
}

function setSettlementAddress(
  { network, address, approvers }: Of<'SetSettlementAddress'>,
  context: MerchantContext,
): Decision<MerchantEvent> {
  if (context.settlementAddresses[network] === address) return accept();
  if (new Set(approvers.map(lookOf)).size < 2)
    return refuse('conflict', 'two approvers must approve a settlement address');
  return accept({
    type: 'SettlementAddressSet',
    data: { merchantId: merchantIdOf(context), network, address, approvers },
  });
}

/** Records only what differs. */
function setPolicy(
  { policy: asked, floor, tolerance }: Of<'SetPolicy'>,
  context: MerchantContext,
): Decision<MerchantEvent> {
  const fault = policyFault(asked) ?? toleranceFault(asked, tolerance) ?? floorFault(asked, floor);
  if (fault) return { ok: false, refusal: fault };
  const unset = {
    serviceFeeBasisPoints: 0,
    tolerancePercent: null,
    contact: null,
    offerBothCoins: false,
  };
  const current: Readonly<Record<string, unknown>> = { ...unset, ...context.policy };
  const changes = Object.entries(asked).filter(
    ([name, value]) => value !== undefined && JSON.stringify(value) !== JSON.stringify(current[name]),
  );
  if (changes.length === 0) return accept();
  return accept({
    type: 'PolicySet',
    data: { merchantId: merchantIdOf(context), policy: Object.fromEntries(changes) },
  });
}

function setLogo(logo: Logo | null, context: MerchantContext): Decision<MerchantEvent> {
  if (logo?.png === context.logo?.png) return accept();
  return accept({ type: 'LogoSet', data: { merchantId: merchantIdOf(context), logo } });
}

const invalid = (param: string, message: string): Refusal => ({ code: 'invalid_request', message, param });

function policyFault(policy: Partial<MerchantPolicy>): Refusal | null {
  const {
    settlementCoin,
    networks,
    offerTronUsdc,
    tolerance,
    sessionTtlSec,
    ethereumFinalizedFrom,
    ethereumConfirmations,
  } = policy;
  const { serviceFeeBasisPoints, contact, offerBothCoins } = policy;
  if (settlementCoin !== undefined && !isCoin(settlementCoin))
    return invalid('settlement_coin', 'settlement_coin must be USDT or USDC');
  if (
    networks !== undefined &&
    (networks.length === 0 || !networks.every(isNetwork) || new Set(networks).size !== networks.length)
  ) {
    return invalid('networks', 'networks must name at least one of ethereum, bsc, tron and solana, each once');
  }
  if (offerTronUsdc !== undefined && typeof offerTronUsdc !== 'boolean')
    return invalid('offer_tron_usdc', 'offer_tron_usdc must be true or false');
  if (offerBothCoins !== undefined && typeof offerBothCoins !== 'boolean')
    return invalid('offer_both_coins', 'offer_both_coins must be true or false');
  if (tolerance !== undefined && !isCoinAmount(tolerance))
    return invalid('tolerance', 'tolerance must be a decimal amount of at most 6 decimals');
  if (sessionTtlSec !== undefined && sessionTtlSec !== null && !isWhole(sessionTtlSec, 1, MAX_TTL_SEC)) {
    return invalid('session_ttl', `session_ttl must be a whole number of seconds from 1 to ${MAX_TTL_SEC}`);
  }
  if (ethereumFinalizedFrom !== undefined && !isCoinAmount(ethereumFinalizedFrom)) {
    return invalid('ethereum_finalized_from', 'ethereum_finalized_from must be a decimal amount of at most 6 decimals');
  }
  if (ethereumConfirmations !== undefined && !isWhole(ethereumConfirmations, 1, MAX_CONFIRMATIONS)) {
    return invalid(
      'ethereum_confirmations',
      `ethereum_confirmations must be a whole number from 1 to ${MAX_CONFIRMATIONS}`,
    );
  }
  if (serviceFeeBasisPoints !== undefined && !isWhole(serviceFeeBasisPoints, 0, MAX_SERVICE_FEE_BASIS_POINTS)) {
    return invalid(
      'service_fee',
      `service_fee must be a whole number of hundredths of a percent from 0 to ${MAX_SERVICE_FEE_BASIS_POINTS}`,
    );
  }
  if (contact !== undefined && contact !== null && contactLink(contact) === null)
    return invalid('contact', 'contact must be an e-mail address or an https URL of at most 200 characters');
  return null;
}

function toleranceFault(
  { tolerance, tolerancePercent: percent }: Partial<MerchantPolicy>,
  { maxPercent, max }: ToleranceBounds,
): Refusal | null {
  if (tolerance !== undefined && amountOf(tolerance) > amountOf(max))
    return invalid('tolerance', `tolerance must be at most ${max}, which the operator set`);
  if (percent === undefined || percent === null) return null;
  const basisPoints = typeof percent === 'string' ? basisPointsOf(percent) : null;
  return basisPoints !== null && basisPoints <= maxPercent * 100
    ? null
    : invalid(
        'tolerance_percent',
        `tolerance_percent must be a percentage from 0 to ${maxPercent}, the most that the operator allows, with at most 2 decimals, such as 0.5`,
      );
}

/** A merchant may raise the operator's minimum, never lower it. */
function floorFault(
  { ethereumConfirmations, ethereumFinalizedFrom }: Partial<MerchantPolicy>,
  floor: FinalityFloor,
): Refusal | null {
  if (ethereumConfirmations !== undefined && ethereumConfirmations < floor.ethereumConfirmations)
    return invalid(
      'ethereum_confirmations',
      `ethereum_confirmations must be at least ${floor.ethereumConfirmations}, which the operator set`,
    );
  if (ethereumFinalizedFrom !== undefined && amountOf(ethereumFinalizedFrom) > amountOf(floor.ethereumFinalizedFrom))
    return invalid(
      'ethereum_finalized_from',
      `ethereum_finalized_from must be at most ${floor.ethereumFinalizedFrom}, which the operator set`,
    );
  return null;
}

const isCoinAmount = (text: string): boolean =>
  typeof text === 'string' && parseAmount(text) !== null && decimalsOf(text) <= COIN_MAX_DECIMALS;
const isWhole = (value: number, min: number, max: number): boolean =>
  Number.isSafeInteger(value) && value >= min && value <= max;

/** Names are shown to payers: no control characters, no text-direction marks, no invisible edges. */
function nameFault(name: string, param: string): Refusal | null {
  const readable =
    name.length > 0 &&
    name.length <= MAX_NAME_LENGTH &&
    name === name.trim() &&
    name.isWellFormed() &&
    !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name);
  return readable ? null : invalid(param, `${param} must be 1 to ${MAX_NAME_LENGTH} readable characters`);
}
