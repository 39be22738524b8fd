import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import type { ErrorCode } from '../../../../src/domain/errors.ts';
import type { MerchantEvent, MerchantPolicy } from '../../../../src/domain/events/merchant-events.ts';
import type { ApiKeyId, MerchantId, Mode } from '../../../../src/domain/values/ids.ts';
import { merchantTable } from '../../../../src/features/shared/handlers/merchant-handler.ts';
import { decideMerchant } from '../../../../state-machines/merchant/merchant.decider.ts';
import type { MerchantCommand } from '../../../../state-machines/merchant/merchant.commands.ts';
import { merchantMachine } from '../../../../state-machines/merchant/merchant.machine.ts';
import { DEFAULT_POLICY, mainSecret } from '../../../../state-machines/merchant/merchant.state.ts';
import { OUTCOME_TYPES } from '../../../../src/domain/notifications/types.ts';

const merchantId = 'mer_aaaaaaaaaaaaaaaaaaaa' as MerchantId;
const keyFacts = (suffix: string, mode: Mode = 'test') => ({
  merchantId,
  keyId: `key_${suffix}` as ApiKeyId,
  mode,
  keyHash: `hash-${suffix}`,
  hint: 'sk_test_...wxyz',
  sealedSecret: `sealed-${suffix}`,
});
const register = (mode: Mode = 'test', name = 'Shop'): MerchantCommand => ({
  type: 'RegisterMerchant',
  merchant: { merchantId, name, mode },
  key: keyFacts('1', mode),
  endpoint: { endpointId: 'we_1', url: null, sealedSecret: 'sealed-1' },
});

/**
 * Runs commands in a row; each must be accepted by the machine (XState's own and the table), and repeating it must add
 * nothing.
 */
function after(...commands: MerchantCommand[]) {
  let state = merchantTable.initial;
  let [snapshot] = initialTransition(merchantMachine);
  const events: MerchantEvent[] = [];
  for (const command of commands) {
    const decision = decideMerchant(command, state);
    expect(decision, command.type).toMatchObject({ ok: true });
    if (!decision.ok) continue;
    for (const event of decision.events) {
      expect(snapshot.can(event), event.type).toBe(true);
      [snapshot] = transition(merchantMachine, snapshot, event);
    }
    state = merchantTable.replay(decision.events, state);
    expect(state.context).toEqual(snapshot.context);
    events.push(...decision.events);
  }
  return {
    state,
    types: events.map((event) => event.type),
    then: (command: MerchantCommand) => {
      const decision = decideMerchant(command, state);
      return decision.ok
        ? decision.events.map((event) => event.type)
        : (decision.refusal.code as ErrorCode | undefined);
    },
    refusal: (command: MerchantCommand) => {
      const decision = decideMerchant(command, state);
      return decision.ok ? null : decision.refusal;
    },
  };
}

const FLOOR = { ethereumConfirmations: 12, ethereumFinalizedFrom: '10000' };
const policy = (asked: Partial<MerchantPolicy>) =>
  ({ type: 'SetPolicy', policy: asked, floor: FLOOR, tolerance: { maxPercent: 5, max: '100' } }) as const;
const domain = (host: string, shopName = 'Shop', domainId = 'dom_1'): MerchantCommand => ({
  type: 'AddDomain',
  domainId,
  host,
  shopName,
});
const issueSecret = (version: number, nowSec = 1_000): MerchantCommand => ({
  type: 'IssueWebhookSecret',
  sealedSecret: `sealed-v${version}-${nowSec}`,
  version,
  activatesAtSec: nowSec + 86_400,
  nowSec,
});

describe('registering', () => {
  it('gives a merchant its first key and its endpoint with a secret in one step', () => {
    expect(after(register()).types).toEqual(['MerchantRegistered', 'ApiKeyIssued', 'WebhookEndpointSet']);
  });

  it('starts with the default policy', () => {
    expect(after(register()).state.context.policy).toEqual({
      settlementCoin: 'USDT',
      networks: ['ethereum', 'bsc', 'tron', 'solana'],
      offerTronUsdc: false,
      tolerance: '0',
      sessionTtlSec: null,
      ethereumFinalizedFrom: '10000',
      ethereumConfirmations: 12,
    } satisfies MerchantPolicy);
  });

  it('refuses names that payers could misread', () => {
    for (const name of [
      '',
      ' Shop',
      'Shop ',
      'x'.repeat(101),
      'a\nb',
      'a\u0000b',
      'safe\u202etxt',
      '\ud800',
      'a\u200bb',
    ]) {
      expect(after().refusal(register('test', name)), JSON.stringify(name)).toMatchObject({
        code: 'invalid_request',
        param: 'name',
      });
    }
    expect(after().then(register('test', 'Café 東京 & Söhne'))).toHaveLength(3);
  });

  it('is needed before anything else', () => {
    for (const command of [
      domain('shop.example'),
      policy({ tolerance: '1' }),
      { type: 'IssueKey', key: keyFacts('2') } as const,
    ])
      expect(after().then(command)).toBe('not_found');
  });
});

describe('keys', () => {
  it('can be issued alongside the old ones and revoked once', () => {
    const merchant = after(
      register(),
      { type: 'IssueKey', key: keyFacts('2') },
      { type: 'RevokeKey', keyId: 'key_1' as ApiKeyId },
    );
    expect(merchant.types.slice(3)).toEqual(['ApiKeyIssued', 'ApiKeyRevoked']);
    expect(merchant.then({ type: 'RevokeKey', keyId: 'key_1' as ApiKeyId })).toEqual([]);
    expect(merchant.then({ type: 'IssueKey', key: keyFacts('2') })).toEqual([]);
  });

  it('that never existed cannot be revoked, whatever their name', () => {
    for (const keyId of ['key_9', '__proto__', 'constructor'])
      expect(after(register()).then({ type: 'RevokeKey', keyId: keyId as ApiKeyId })).toBe('not_found');
  });

  it('are bounded in number, revoked ones not counted', () => {
    const many = Array.from({ length: 49 }, (_, index): MerchantCommand => ({
      type: 'IssueKey',
      key: keyFacts(`n${index}`),
    }));
    const full = after(register(), ...many);
    expect(full.then({ type: 'IssueKey', key: keyFacts('more') })).toBe('invalid_request');
    expect(
      after(register(), ...many, { type: 'RevokeKey', keyId: 'key_n0' as ApiKeyId }).then({
        type: 'IssueKey',
        key: keyFacts('more'),
      }),
    ).toEqual(['ApiKeyIssued']);
  });

  it('are bounded in all, revoked ones counted', () => {
    const { state } = after(register());
    const [key] = Object.values(state.context.keys);
    const revoked = Array.from({ length: 999 }, (_, index) => [`key_n${index}`, { ...key!, revoked: true }]);
    const keys = { ...state.context.keys, ...Object.fromEntries(revoked) };
    const issue = { type: 'IssueKey', key: keyFacts('more') } as const;
    expect(decideMerchant(issue, { ...state, context: { ...state.context, keys } })).toMatchObject({
      refusal: { message: 'a merchant can be issued at most 1000 keys, revoked ones included' },
    });
  });

  it('never cross between test and live', () => {
    const { state } = after(register('test'));
    expect(merchantTable.can(state, { type: 'ApiKeyIssued', data: keyFacts('2', 'live') })).toBe(false);
  });
});

describe('the webhook endpoint', () => {
  it('keeps its id and secret when its URL changes', () => {
    const { state } = after(
      register(),
      { type: 'SetWebhook', url: 'https://a.example/hook' },
      { type: 'SetWebhook', url: null },
      { type: 'SetWebhook', url: 'https://b.example/hook' },
    );
    expect(state.context.endpoint).toMatchObject({
      endpointId: 'we_1',
      url: 'https://b.example/hook',
      current: { sealed: 'sealed-1', version: 1 },
    });
  });

  it('records nothing if it is set to its current value', () => {
    const merchant = after(register(), { type: 'SetWebhook', url: 'https://a.example/', durableRedelivery: true });
    expect(merchant.then({ type: 'SetWebhook', url: 'https://a.example/' })).toEqual([]);
    expect(merchant.then({ type: 'SetWebhook', url: 'https://a.example/', durableRedelivery: false })).toEqual([
      'WebhookEndpointSet',
    ]);
  });

  it('receives the optional events that it subscribes to, until it changes them', () => {
    const url = 'https://a.example/';
    const merchant = after(
      register(),
      { type: 'SetWebhook', url },
      { type: 'SetWebhook', events: ['payment.reversed', 'payment.late'] },
    );
    expect(merchant.state.context.endpoint).toMatchObject({
      url,
      events: [...OUTCOME_TYPES, 'payment.late', 'payment.reversed'],
    });
    expect(merchant.then({ type: 'SetWebhook', events: ['payment.late', 'payment.reversed'] })).toEqual([]);
    expect(merchant.then({ type: 'SetWebhook', url: 'https://b.example/' })).toEqual(['WebhookEndpointSet']);
    expect(merchant.then({ type: 'SetWebhook', events: [] })).toEqual(['WebhookEndpointSet']);
    for (const events of [['payment.lost'], ['payment.late', 'payment.late'], ['']])
      expect(decideMerchant({ type: 'SetWebhook', events }, merchant.state)).toMatchObject({
        ok: false,
        refusal: { param: 'events' },
      });
  });

  it('is suspended once and runs again when resumed or given another URL', () => {
    const suspended = after(
      register(),
      { type: 'SetWebhook', url: 'https://a.example/' },
      { type: 'SuspendEndpoint', endpointId: 'we_1', reason: 'gone' },
    );
    expect(suspended.then({ type: 'SuspendEndpoint', endpointId: 'we_1', reason: 'gone' })).toEqual([]);
    expect(suspended.then({ type: 'SuspendEndpoint', endpointId: 'we_2', reason: 'gone' })).toBe('not_found');
    expect(suspended.then({ type: 'ResumeEndpoint' })).toEqual(['WebhookEndpointResumed']);
    const moved = after(
      register(),
      { type: 'SetWebhook', url: 'https://a.example/' },
      { type: 'SuspendEndpoint', endpointId: 'we_1', reason: 'gone' },
      { type: 'SetWebhook', url: 'https://b.example/' },
    );
    expect(moved.state.context.endpoint?.suspended).toBeNull();
    expect(moved.then({ type: 'ResumeEndpoint' })).toEqual([]);
  });
});

describe('a further endpoint', () => {
  const add = (change: Partial<Extract<MerchantCommand, { type: 'AddEndpoint' }>> = {}): MerchantCommand => ({
    type: 'AddEndpoint',
    endpointId: 'we_2',
    url: 'https://books.example/',
    sealedSecret: 'sealed-books',
    events: ['payment.late'],
    ...change,
  });

  it('exists beside the default one, and is added once', () => {
    const merchant = after(
      register(),
      add({ events: ['payment.late', 'payment.completed'], fields: ['tx_hash', 'network'] }),
    );
    expect(merchant.state.context.endpoint).toMatchObject({ endpointId: 'we_1' });
    expect(merchant.state.context.furtherEndpoints['we_2']).toMatchObject({
      url: 'https://books.example/',
      events: ['payment.completed', 'payment.late'],
      fields: ['network', 'tx_hash'],
      ...{ disabled: false, suspended: null, current: { sealed: 'sealed-books', version: 1 } },
    });
    expect(merchant.then(add())).toEqual([]);
  });

  it('is sent nothing that it did not subscribe to, while the default one is sent every outcome', () => {
    const merchant = after(
      register(),
      add(),
      { type: 'SetWebhook', endpointId: 'we_2', events: ['refund.failed'] },
      { type: 'SetWebhook', events: [] },
    );
    expect(merchant.state.context.furtherEndpoints['we_2']?.events).toEqual(['refund.failed']);
    expect(merchant.state.context.endpoint?.events).toEqual(OUTCOME_TYPES);
    expect(merchant.refusal({ type: 'SetWebhook', endpointId: 'we_2', events: [] })?.param).toBe('events');
    expect(merchant.refusal({ type: 'SetWebhook', endpointId: 'we_2', url: null })?.param).toBe('url');
  });

  it('is switched off, rotated, suspended and resumed by itself', () => {
    const id = { endpointId: 'we_2' };
    const merchant = after(
      register(),
      add(),
      { type: 'SetWebhook', ...id, disabled: true },
      { type: 'IssueWebhookSecret', ...id, sealedSecret: 'next', version: 2, activatesAtSec: 90_000, nowSec: 1_000 },
      { type: 'ActivateWebhookSecret', ...id },
      { type: 'SuspendEndpoint', ...id, reason: 'gone' },
    );
    const { endpoint, furtherEndpoints } = merchant.state.context;
    expect(furtherEndpoints['we_2']).toMatchObject({
      disabled: true,
      current: { sealed: 'next', version: 2 },
      suspended: 'gone',
    });
    expect(endpoint).toMatchObject({ disabled: false, current: { version: 1 }, suspended: null });
    expect(merchant.then({ type: 'ResumeEndpoint' })).toEqual([]);
    expect(merchant.then({ type: 'ResumeEndpoint', ...id })).toEqual(['WebhookEndpointResumed']);
  });

  it('is refused without an event type, with an unknown field, and beyond the sixteenth', () => {
    expect(after(register()).refusal(add({ events: [] }))?.param).toBe('events');
    expect(after(register()).refusal(add({ fields: ['colour'] }))?.param).toBe('fields');
    expect(after(register()).refusal({ type: 'SetWebhook', fields: ['due', 'due'] })?.param).toBe('fields');
    expect(after(register()).then({ type: 'SetWebhook', endpointId: 'we_9', disabled: true })).toBe('not_found');
    const full = after(register(), ...Array.from({ length: 15 }, (_, index) => add({ endpointId: `we_${index + 2}` })));
    expect(full.then(add({ endpointId: 'we_99' }))).toBe('invalid_request');
  });
});

describe('rotating the webhook secret', () => {
  it('keeps the old one in force until the new one is activated', () => {
    const issued = after(register(), issueSecret(2));
    expect(mainSecret(issued.state.context.endpoint!, 1_000)).toMatchObject({ sealed: 'sealed-1', version: 1 });
    const activated = after(register(), issueSecret(2), { type: 'ActivateWebhookSecret' });
    expect(activated.state.context.endpoint).toMatchObject({
      current: { sealed: 'sealed-v2-1000', version: 2 },
      next: null,
    });
  });

  it('lets the new one take over automatically after its time', () => {
    const { state } = after(register(), issueSecret(2));
    expect(mainSecret(state.context.endpoint!, 87_399).version).toBe(1);
    expect(mainSecret(state.context.endpoint!, 87_400).version).toBe(2);
  });

  it('records the automatic activation when the next one is issued', () => {
    const merchant = after(register(), issueSecret(2), issueSecret(3, 100_000));
    expect(merchant.types.slice(3)).toEqual(['WebhookSecretRotated', 'WebhookSecretRotated', 'WebhookSecretRotated']);
    expect(merchant.state.context.endpoint).toMatchObject({ current: { version: 2 }, next: { version: 3 } });
  });

  it('replaces an issued secret that was lost before it was active', () => {
    const merchant = after(register(), issueSecret(2), issueSecret(3, 2_000));
    expect(merchant.state.context.endpoint).toMatchObject({
      current: { version: 1 },
      next: { version: 3, sealed: 'sealed-v3-2000' },
    });
  });

  it('refuses a secret sealed for another version, and an activation of nothing', () => {
    expect(after(register()).then(issueSecret(3))).toBe('conflict');
    expect(after(register()).then({ type: 'ActivateWebhookSecret' })).toBe('invalid_request');
  });
});

describe('domains', () => {
  it('are host names and nothing more', () => {
    for (const host of [
      '',
      'shop',
      'https://shop.example',
      'shop.example/',
      'shop.example:8080',
      'Shop.example',
      'a b.example',
      '-a.example',
      'a-.example',
      '.example',
      'a..b',
      `${'a'.repeat(64)}.example`,
      'sh_op.example',
      'shop.example.',
    ]) {
      expect(after(register()).refusal(domain(host)), host).toMatchObject({ code: 'invalid_request', param: 'host' });
    }
    for (const host of ['shop.example', 'xn--caf-dma.example', 'a.b.c.d.example', '1.2.3.4'])
      expect(after(register()).then(domain(host)), host).toEqual(['DomainAdded']);
  });

  it('may be localhost in test mode only', () => {
    expect(after(register('test')).then(domain('localhost'))).toEqual(['DomainAdded']);
    expect(after(register('live')).then(domain('localhost'))).toBe('invalid_request');
  });

  it('are registered once each and can be removed', () => {
    const merchant = after(register(), domain('shop.example'));
    expect(merchant.then(domain('shop.example', 'Shop', 'dom_2'))).toEqual([]);
    expect(merchant.then(domain('shop.example', 'Other name', 'dom_2'))).toBe('invalid_request');
    expect(merchant.then({ type: 'RemoveDomain', domainId: 'dom_1' })).toEqual(['DomainRemoved']);
    for (const domainId of ['dom_2', '__proto__', 'toString'])
      expect(merchant.then({ type: 'RemoveDomain', domainId })).toBe('not_found');
  });
});

describe('the logo', () => {
  const logo = { png: 'iVBORw0KGgo=', width: 160, height: 80 };

  it('is set, replaced and removed, each recorded once', () => {
    const merchant = after(register(), { type: 'SetLogo', logo });
    expect(merchant.state.context.logo).toEqual(logo);
    expect(merchant.then({ type: 'SetLogo', logo })).toEqual([]);
    expect(merchant.then({ type: 'SetLogo', logo: { ...logo, png: 'iVBORw0KGgs=' } })).toEqual(['LogoSet']);
    expect(after(register(), { type: 'SetLogo', logo }, { type: 'SetLogo', logo: null }).state.context.logo).toBeNull();
    expect(after(register()).then({ type: 'SetLogo', logo: null })).toEqual([]);
  });
});

describe('the policy', () => {
  it('records only what differs', () => {
    const { state, types, then } = after(register(), policy({ tolerance: '0.5', settlementCoin: 'USDT' }));
    expect(types.slice(3)).toEqual(['PolicySet']);
    expect(state.context.policy).toEqual({ ...DEFAULT_POLICY, tolerance: '0.5' });
    expect(then(policy({ tolerance: '0.5' }))).toEqual([]);
    expect(then(policy({}))).toEqual([]);
  });

  it('has no tolerance in percent until one is set, and none once it is removed', () => {
    const never = after(register());
    expect(never.then(policy({ tolerancePercent: null }))).toEqual([]);
    const set = after(register(), policy({ tolerancePercent: '2.5' }));
    expect(set.then(policy({ tolerancePercent: '2.5' }))).toEqual([]);
    expect(set.state.context.policy).toEqual({ ...DEFAULT_POLICY, tolerancePercent: '2.5' });
    const { types, state } = after(register(), policy({ tolerancePercent: '2.5' }), policy({ tolerancePercent: null }));
    expect(types.slice(3)).toEqual(['PolicySet', 'PolicySet']);
    expect(state.context.policy.tolerancePercent).toBeNull();
  });

  it('accepts a share up to what the operator allows, and says how much that is', () => {
    const bounded = (tolerancePercent: string, maxPercent: number) => ({
      ...policy({ tolerancePercent }),
      tolerance: { maxPercent, max: '100' },
    });
    expect(after(register()).then(bounded('50', 50))).toEqual(['PolicySet']);
    expect(after(register()).then(bounded('0', 0))).toEqual(['PolicySet']);
    expect(after(register()).refusal(bounded('0.01', 0))?.message).toContain(
      'tolerance_percent must be a percentage from 0 to 0',
    );
    expect(after(register()).refusal(bounded('2.01', 2))?.message).toContain(
      'tolerance_percent must be a percentage from 0 to 2',
    );
  });

  it('accepts an amount up to what the operator allows, and says how much that is', () => {
    expect(after(register()).then(policy({ tolerance: '100' }))).toEqual(['PolicySet']);
    expect(after(register()).refusal(policy({ tolerance: '100.01' }))).toEqual({
      ...{ code: 'invalid_request', param: 'tolerance' },
      message: 'tolerance must be at most 100, which the operator set',
    });
  });

  it('has no service fee until one is set, and none again once it is 0', () => {
    const never = after(register());
    expect(never.then(policy({ serviceFeeBasisPoints: 0 }))).toEqual([]);
    const { types, state } = after(
      register(),
      policy({ serviceFeeBasisPoints: 50 }),
      policy({ serviceFeeBasisPoints: 0 }),
    );
    expect(types.slice(3)).toEqual(['PolicySet', 'PolicySet']);
    expect(state.context.policy.serviceFeeBasisPoints).toBe(0);
  });

  it.each([
    ['settlement_coin', { settlementCoin: 'DAI' }],
    ['settlement_coin', { settlementCoin: 'usdt' }],
    ['networks', { networks: [] }],
    ['networks', { networks: ['polygon'] }],
    ['networks', { networks: ['bsc', 'bsc'] }],
    ['tolerance', { tolerance: '-1' }],
    ['tolerance', { tolerance: '1e3' }],
    ['tolerance', { tolerance: '0.1234567' }],
    ['tolerance', { tolerance: '1000000000000' }],
    ['tolerance', { tolerance: 1 }],
    ['tolerance_percent', { tolerancePercent: '-1' }],
    ['tolerance_percent', { tolerancePercent: '5.01' }],
    ['tolerance_percent', { tolerancePercent: '0.125' }],
    ['tolerance_percent', { tolerancePercent: '0.500' }],
    ['tolerance_percent', { tolerancePercent: '1e0' }],
    ['tolerance_percent', { tolerancePercent: '1%' }],
    ['tolerance_percent', { tolerancePercent: '' }],
    ['tolerance_percent', { tolerancePercent: 1 }],
    ['session_ttl', { sessionTtlSec: 0 }],
    ['session_ttl', { sessionTtlSec: 1.5 }],
    ['session_ttl', { sessionTtlSec: 2_592_001 }],
    ['session_ttl', { sessionTtlSec: NaN }],
    ['ethereum_finalized_from', { ethereumFinalizedFrom: '1,5' }],
    ['ethereum_confirmations', { ethereumConfirmations: 0 }],
    ['ethereum_confirmations', { ethereumConfirmations: 97 }],
    ['offer_tron_usdc', { offerTronUsdc: 'yes' }],
    ['contact', { contact: 'http://shop.example' }],
    ['contact', { contact: 'help' }],
    ['contact', { contact: 5 }],
    ['offer_both_coins', { offerBothCoins: 'yes' }],
    ['service_fee', { serviceFeeBasisPoints: -1 }],
    ['service_fee', { serviceFeeBasisPoints: 0.5 }],
    ['service_fee', { serviceFeeBasisPoints: 1_001 }],
    ['service_fee', { serviceFeeBasisPoints: '50' }],
  ])('refuses a wrong %s', (param, asked) => {
    expect(after(register()).refusal(policy(asked as unknown as Partial<MerchantPolicy>))).toMatchObject({
      code: 'invalid_request',
      param,
    });
  });

  it.each([
    ['ethereum_confirmations', { ethereumConfirmations: 11 }, 'at least 12'],
    ['ethereum_finalized_from', { ethereumFinalizedFrom: '10000.01' }, 'at most 10000'],
  ])("refuses %s below the operator's floor by name, together with the whole change", (param, asked, bound) => {
    const refusal = after(register()).refusal(policy({ tolerance: '0.01', ...asked }));
    expect(refusal).toMatchObject({ code: 'invalid_request', param });
    expect(refusal!.message).toContain(`${param} must be ${bound}`);
  });

  it('accepts the floor itself, and other settings of a policy below it', () => {
    const low = {
      ...policy({ ethereumConfirmations: 2 }),
      floor: { ethereumConfirmations: 1, ethereumFinalizedFrom: '10000' },
    };
    const { context } = after(register(), low, policy({ tolerance: '0.01' })).state;
    expect(context.policy).toMatchObject({ ethereumConfirmations: 2, tolerance: '0.01' });
    expect(
      after(register(), low, policy({ ethereumConfirmations: 12, ethereumFinalizedFrom: '10000.00' })).state.context
        .policy,
    ).toMatchObject({
      ethereumConfirmations: 12,
    });
  });

  it('accepts every setting', () => {
    const all: Required<MerchantPolicy> = {
      settlementCoin: 'USDC',
      networks: ['tron'],
      offerTronUsdc: true,
      tolerance: '0.01',
      tolerancePercent: '5',
      sessionTtlSec: 900,
      ethereumFinalizedFrom: '500',
      ethereumConfirmations: 32,
      serviceFeeBasisPoints: 1_000,
      contact: 'help@shop.example',
      offerBothCoins: true,
    };
    expect(after(register(), policy(all)).state.context.policy).toEqual(all);
    expect(
      after(register(), policy(all), policy({ sessionTtlSec: null })).state.context.policy.sessionTtlSec,
    ).toBeNull();
  });
});
