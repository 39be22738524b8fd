import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import type { MerchantEvent } from '../../../../src/domain/events/merchant-events.ts';
import type { ApiKeyId, MerchantId, Mode, NotificationId } from '../../../../src/domain/values/ids.ts';
import { merchantTable } from '../../../../src/features/shared/handlers/merchant-handler.ts';
import { settingsBody } from '../../../../src/domain/notifications/settings-notices.ts';
import { decideMerchant } from '../../../../state-machines/merchant/merchant.decider.ts';
import type { MerchantCommand } from '../../../../state-machines/merchant/merchant.commands.ts';
import { merchantMachine } from '../../../../state-machines/merchant/merchant.machine.ts';
import { settingsNoticeOf } from '../../../../state-machines/merchant/notices.ts';
import type { Waiting } from '../../../../state-machines/merchant/endpoints.decider.ts';

const merchantId = 'mer_aaaaaaaaaaaaaaaaaaaa' as MerchantId;
const FLOOR = { ethereumConfirmations: 12, ethereumFinalizedFrom: '10000' };
const BOUNDS = { floor: FLOOR, tolerance: { maxPercent: 5, max: '100' } };
const OLD = 'https://shop.example/hooks';
const NEW = 'https://other.example/hooks';

const register = (mode: Mode = 'live', url: string | null = OLD): MerchantCommand => ({
  type: 'RegisterMerchant',
  merchant: { merchantId, name: 'Shop', mode },
  key: { merchantId, keyId: 'key_1' as ApiKeyId, mode, keyHash: 'h', hint: 'sk_..', sealedSecret: 's' },
  endpoint: { endpointId: 'we_1', url, sealedSecret: 'sealed-1' },
});

const wait = (changeId = 'chg_1', over: Partial<Waiting> = {}): { wait: Waiting } => ({
  wait: { changeId, nowSec: 1_000, requestedBy: `merchant:${merchantId}`, installationMinutes: 60, ...over },
});
const url = (to: string, changeId?: string): MerchantCommand => ({ type: 'SetWebhook', url: to, ...wait(changeId) });
const apply = (changeId: string, nowSec: number): MerchantCommand => ({
  type: 'ApplyChange',
  changeId,
  nowSec,
  ...BOUNDS,
});

/** Runs commands in a row; the machine accepts every event, in XState's form and in the table's. */
function after(...commands: MerchantCommand[]) {
  let state = merchantTable.initial;
  let [snapshot] = initialTransition(merchantMachine);
  let last: MerchantEvent[] = [];
  const told: string[] = [];
  for (const command of commands) {
    const decision = decideMerchant(command, state);
    if (!decision.ok) throw new Error(`${command.type}: ${decision.refusal.message}`);
    last = [...decision.events];
    for (const event of decision.events) {
      expect(snapshot.can(event), event.type).toBe(true);
      [snapshot] = transition(merchantMachine, snapshot, event);
      const addressed = settingsNoticeOf(event, state.context, { atSec: 1_000, actor: `merchant:${merchantId}` });
      if (addressed)
        told.push([addressed.notice.type, addressed.formerDefault ?? 'default', ...addressed.further].join(' '));
      state = merchantTable.replay([event], state);
    }
    expect(state.context).toEqual(snapshot.context);
  }
  return { state, types: last.map(({ type }) => type), told, context: state.context };
}

const refusalOf = (command: MerchantCommand, state: ReturnType<typeof after>['state']) => {
  const decision = decideMerchant(command, state);
  return decision.ok ? null : decision.refusal;
};

describe('a change of a guarded setting', () => {
  it.each<[string, MerchantCommand]>([
    ['another URL', url(NEW)],
    ['no URL', { type: 'SetWebhook', url: null, ...wait() }],
    ['an endpoint that is switched off', { type: 'SetWebhook', disabled: true, ...wait() }],
    ['a share of what is due', { type: 'SetPolicy', policy: { tolerancePercent: '1' }, ...BOUNDS, ...wait() }],
    ['a policy', { type: 'SetPolicy', policy: { tolerance: '1' }, ...BOUNDS, ...wait() }],
    [
      'a settlement address',
      { type: 'SetSettlementAddress', network: 'bsc', address: '0xabc', approvers: ['ada', 'ben'], ...wait() },
    ],
  ])('waits where the installation says so, and changes nothing yet: %s', (_, command) => {
    const before = after(register());
    const asked = after(register(), command);
    expect(asked.types).toEqual(['MerchantChangeScheduled']);
    expect({ ...asked.context, pendingChanges: {} }).toEqual(before.context);
    expect(asked.context.pendingChanges['chg_1']).toMatchObject({
      requestedAtSec: 1_000,
      takesEffectAtSec: 1_000 + 3_600,
    });
    const { type: _type, wait: _wait, ...atOnce } = command as MerchantCommand & { wait?: Waiting };
    const applied = after(register(), command, apply('chg_1', 4_600));
    expect(applied.types.at(-1)).toBe('MerchantChangeApplied');
    expect(applied.context).toEqual(after(register(), { type: command.type, ...atOnce } as MerchantCommand).context);
  });

  it('takes effect at once in test mode, unless the merchant has a delay of its own', () => {
    expect(after(register('test'), url(NEW)).types).toEqual(['WebhookEndpointSet']);
    expect(after(register('test'), { type: 'SetChangeDelay', minutes: 5, ...wait() }, url(NEW)).types).toEqual([
      'MerchantChangeScheduled',
    ]);
  });

  it('takes effect at once if it takes nothing away: the first URL, a resumption, subscriptions', () => {
    expect(after(register('live', null), url(OLD)).types).toEqual(['WebhookEndpointSet']);
    const suspended: MerchantCommand = { type: 'SuspendEndpoint', endpointId: 'we_1', reason: 'gone' };
    expect(after(register(), suspended, url(OLD)).types).toEqual(['WebhookEndpointSet']);
    expect(after(register(), { type: 'SetWebhook', events: ['payment.late'], ...wait() }).types).toEqual([
      'WebhookEndpointSet',
    ]);
  });

  it('is one change however often it is requested, and refused where it would take effect at once', () => {
    expect(after(register(), url(NEW), url(NEW, 'chg_2')).types).toEqual([]);
    expect(after(register(), url(OLD)).types).toEqual([]);
    const { state } = after(register());
    expect(refusalOf({ type: 'SetPolicy', policy: { tolerance: 'much' }, ...BOUNDS, ...wait() }, state)).toMatchObject({
      param: 'tolerance',
    });
  });

  it('does not pile up', () => {
    const many = Array.from({ length: 20 }, (_, index) => url(`${NEW}/${index}`, `chg_${index}`));
    const { state } = after(register(), ...many);
    expect(refusalOf(url(NEW, 'chg_20'), state)?.message).toMatch(/at most 20 changes can be pending/);
  });

  it('does not take effect before its time, and once only', () => {
    const { state } = after(register(), url(NEW));
    expect(refusalOf(apply('chg_1', 4_599), state)?.code).toBe('conflict');
    expect(after(register(), url(NEW), apply('chg_1', 4_600), apply('chg_1', 4_600)).types).toEqual([]);
  });

  it('never takes effect once it was withdrawn, and only what waits can be', () => {
    const withdrawn = after(register(), url(NEW), { type: 'WithdrawChange', changeId: 'chg_1' }, apply('chg_1', 9_999));
    expect(withdrawn.types).toEqual([]);
    expect(withdrawn.context.endpoint?.url).toBe(OLD);
    expect(refusalOf({ type: 'WithdrawChange', changeId: 'chg_1' }, withdrawn.state)).toMatchObject({
      code: 'not_found',
      param: 'change_id',
    });
  });

  it('that is no longer possible at its time is refused, with the reason', () => {
    const asked: MerchantCommand = { type: 'SetPolicy', policy: { ethereumConfirmations: 20 }, ...BOUNDS, ...wait() };
    const raised = {
      type: 'ApplyChange',
      changeId: 'chg_1',
      nowSec: 4_600,
      ...BOUNDS,
      floor: { ...FLOOR, ethereumConfirmations: 30 },
    } as const;
    const { types, context, told } = after(register(), asked, raised);
    expect(types).toEqual(['MerchantChangeApplied']);
    expect(context.pendingChanges).toEqual({});
    expect(told.at(-1)).toBe('settings.change_withdrawn default');
  });

  it('to a share takes effect at its time, and is refused if the operator allows less by then', () => {
    const asked: MerchantCommand = { type: 'SetPolicy', policy: { tolerancePercent: '2.5' }, ...BOUNDS, ...wait() };
    expect(after(register(), asked).context.policy.tolerancePercent).toBeUndefined();
    expect(after(register(), asked, apply('chg_1', 4_600)).context.policy.tolerancePercent).toBe('2.5');
    const lowered = {
      type: 'ApplyChange',
      changeId: 'chg_1',
      nowSec: 4_600,
      ...BOUNDS,
      tolerance: { maxPercent: 2, max: '100' },
    } as const;
    const { types, context } = after(register(), asked, lowered);
    expect(types).toEqual(['MerchantChangeApplied']);
    expect(context.policy.tolerancePercent).toBeUndefined();
  });
});

describe('a further endpoint', () => {
  const add: MerchantCommand = {
    type: 'AddEndpoint',
    endpointId: 'we_2',
    url: NEW,
    sealedSecret: 's2',
    events: ['payment.completed'],
    ...wait(),
  };

  it('exists at once with its secret, and is sent nothing before its time', () => {
    const asked = after(register(), add);
    expect(asked.types).toEqual(['WebhookEndpointSet', 'MerchantChangeScheduled']);
    expect(asked.context.furtherEndpoints['we_2']).toMatchObject({ url: NEW, disabled: true });
    expect(asked.told).toEqual(['settings.change_scheduled default']);
    const applied = after(register(), add, apply('chg_1', 4_600));
    expect(applied.context.furtherEndpoints['we_2']).toMatchObject({ disabled: false });
    expect(applied.told.at(-1)).toBe('settings.changed default');
  });

  it('is notified of its changes at its current and its previous URL', () => {
    const move: MerchantCommand = { type: 'SetWebhook', endpointId: 'we_2', url: OLD, ...wait('chg_2') };
    const { told } = after(register(), add, apply('chg_1', 4_600), move, apply('chg_2', 9_999));
    expect(told.slice(-2)).toEqual(['settings.change_scheduled default we_2', 'settings.changed default we_2.1']);
  });
});

describe('the delay itself', () => {
  const delay = (minutes: number | null, changeId = 'chg_1'): MerchantCommand => ({
    type: 'SetChangeDelay',
    minutes,
    ...wait(changeId),
  });

  it('becomes longer at once, and shorter only after the wait that it would end', () => {
    expect(after(register(), delay(120)).types).toEqual(['ChangeDelaySet']);
    const lower = after(register(), delay(120), delay(0, 'chg_2'));
    expect(lower.types).toEqual(['MerchantChangeScheduled']);
    expect(lower.context.pendingChanges['chg_2']?.takesEffectAtSec).toBe(1_000 + 7_200);
    expect(after(register(), delay(120), delay(null, 'chg_2')).types).toEqual(['MerchantChangeScheduled']);
    expect(after(register(), delay(0)).types).toEqual(['MerchantChangeScheduled']);
  });

  it.each([-1, 1.5, 43_201])('is a whole number of minutes up to thirty days: not %s', (minutes) => {
    expect(refusalOf(delay(minutes), after(register()).state)).toMatchObject({
      code: 'invalid_request',
      param: 'minutes',
    });
  });
});

describe('notifications about settings', () => {
  const now = { installationMinutes: 0 };
  const at = (command: MerchantCommand): MerchantCommand => ({ ...command, ...wait('chg_1', now) });

  it('goes to the previous place: the old URL of an endpoint that moved, was removed or was disabled', () => {
    const moved = after(register(), at({ type: 'SetWebhook', url: NEW }));
    expect(moved.told).toEqual(['settings.changed we_1.1']);
    expect(moved.context.formerEndpoints['we_1.1']).toMatchObject({
      endpointId: 'we_1',
      url: OLD,
      current: { sealed: 'sealed-1', version: 1 },
    });
    expect(after(register(), at({ type: 'SetWebhook', url: null })).told).toEqual(['settings.changed we_1.1']);
    expect(after(register(), at({ type: 'SetWebhook', disabled: true })).told).toEqual(['settings.changed we_1.1']);
    const back = after(
      register(),
      at({ type: 'SetWebhook', disabled: true }),
      at({ type: 'SetWebhook', disabled: false }),
    );
    expect(back.told.at(-1)).toBe('settings.changed default');
  });

  it('sends nothing if nothing was taken away: a registration, a first URL, subscriptions', () => {
    expect(after(register()).told).toEqual([]);
    expect(after(register('live', null), at({ type: 'SetWebhook', url: OLD })).told).toEqual([]);
    expect(after(register(), at({ type: 'SetWebhook', events: ['payment.late'] })).told).toEqual([]);
  });

  it('keeps the last five URLs of an endpoint', () => {
    const moves = Array.from({ length: 7 }, (_, index) => at({ type: 'SetWebhook', url: `${NEW}/${index}` }));
    const { context, told } = after(register(), ...moves);
    expect(Object.keys(context.formerEndpoints)).toEqual(['we_1.3', 'we_1.4', 'we_1.5', 'we_1.6', 'we_1.7']);
    expect(told.at(-1)).toBe('settings.changed we_1.7');
  });

  it('names the fields as the API does, but no operator', () => {
    const { state } = after(register());
    const event: MerchantEvent = {
      type: 'SettlementAddressSet',
      data: { merchantId, network: 'bsc', address: '0xabc', approvers: ['ada', 'ben'] },
    };
    const body = settingsBody(
      'evt_1' as NotificationId,
      1_500,
      settingsNoticeOf(event, state.context, { atSec: 1, actor: 'ada' })!.notice,
    );
    expect(JSON.parse(body)).toEqual({
      id: 'evt_1',
      type: 'settings.changed',
      created_at: 1,
      data: {
        object: {
          setting: 'settlement_address',
          status: 'changed',
          change_id: null,
          takes_effect_at: 1,
          changed_by: 'operator',
          change: { network: 'bsc', address: '0xabc' },
        },
      },
    });
  });
});
