import { describe, expect, it } from 'vitest';
import {
  base32,
  parseRefundId,
  parseSessionId,
  type MerchantId,
  type Mode,
  type SessionId,
} from '../../../../src/domain/values/ids.ts';
import { NotificationIds } from '../../../../src/runtime/commands/notification-ids.ts';
import { SessionIds } from '../../../../src/features/sessions/ids.ts';

const secret = (fill: number, version = 1) => ({ version, bytes: new Uint8Array(32).fill(fill) });
const merchant = 'mer_a' as MerchantId;
const of = (mode: Mode, merchantId: MerchantId, orderId: string, supersedes: SessionId | null = null) => ({
  mode,
  merchantId,
  orderId,
  supersedes,
});

describe('session ids', () => {
  it('are read with either prefix and written with one', () => {
    const id = new SessionIds([secret(1)]).current(of('test', merchant, 'order'));
    expect(id).toMatch(/^cs_[a-z2-7]{32}$/);
    expect(parseSessionId(id.replace('cs_', 'sess_'))).toBe(id);
    for (const bad of ['', 'cs_', `cs_${'A'.repeat(32)}`, `${id}a`, ` ${id}`, `${id}\n`, `xx_${id.slice(3)}`])
      expect(parseSessionId(bad)).toBeNull();
  });

  it('are the same for one order and different for every other mode, merchant, order or secret', () => {
    const ids = new SessionIds([secret(1)]);
    expect(ids.current(of('test', merchant, 'order'))).toBe(ids.current(of('test', merchant, 'order')));
    const others = [
      ids.current(of('live', merchant, 'order')),
      ids.current(of('test', 'mer_b' as MerchantId, 'order')),
      ids.current(of('test', merchant, 'order2')),
      ids.current(of('test', 'mer_ao' as MerchantId, 'rder')),
      new SessionIds([secret(2)]).current(of('test', merchant, 'order')),
    ];
    expect(new Set([ids.current(of('test', merchant, 'order')), ...others]).size).toBe(6);
  });

  it('of another attempt differ: one for each superseded session', () => {
    const ids = new SessionIds([secret(1)]);
    const first = ids.current(of('test', merchant, 'order'));
    const second = ids.current(of('test', merchant, 'order', first));
    const third = ids.current(of('test', merchant, 'order', second));
    expect(ids.current(of('test', merchant, 'order', first))).toBe(second);
    expect(
      new Set([first, second, third, ids.current(of('test', merchant, `order${first.length}:${first}`))]).size,
    ).toBe(4);
  });

  it('under older secrets are still found, and the request hash does not depend on the secret', () => {
    const before = new SessionIds([secret(1)]);
    const after = new SessionIds([secret(2, 2), secret(1)]);
    expect(after.older(of('test', merchant, 'order'))).toEqual([before.current(of('test', merchant, 'order'))]);
    expect(after.requestHash('{}')).toBe(before.requestHash('{}'));
  });
});

describe('other ids', () => {
  it('base32 agrees with RFC 4648 section 10', () => {
    const vectors = {
      '': '',
      f: 'my',
      fo: 'mzxq',
      foo: 'mzxw6',
      foob: 'mzxw6yq',
      fooba: 'mzxw6ytb',
      foobar: 'mzxw6ytboi',
    };
    for (const [plain, coded] of Object.entries(vectors)) expect(base32(Buffer.from(plain))).toBe(coded);
  });

  it('refund ids are read strictly', () => {
    expect(parseRefundId(`re_${'a'.repeat(26)}`)).not.toBeNull();
    for (const bad of ['re_', `re_${'a'.repeat(27)}`, `re_${'1'.repeat(26)}`]) expect(parseRefundId(bad)).toBeNull();
  });
});

describe('event ids', () => {
  it('are evt_ and nanoseconds, strictly increasing even if the clock stalls or goes back', () => {
    let nowMs = 1_800_000_000_000;
    const ids = new NotificationIds({ nowMs: () => nowMs }, 7);
    const given = [ids.next(), ids.next()];
    nowMs -= 5000;
    given.push(ids.next());
    nowMs += 6000;
    given.push(ids.next());
    expect(given).toEqual([
      'evt_1800000000000000007',
      'evt_1800000000000001007',
      'evt_1800000000000002007',
      'evt_1800000001000000007',
    ]);
  });

  it('never collide with those of another node or from before a restart', () => {
    const clock = { nowMs: () => 1_800_000_000_000 };
    expect(new NotificationIds(clock, 1).next()).not.toBe(new NotificationIds(clock, 2).next());
    const restarted = new NotificationIds(clock, 1);
    restarted.seen('evt_1800000000000005001');
    expect(restarted.next()).toBe('evt_1800000000000006001');
  });
});
