import { describe, expect, it } from 'vitest';
import type { DomainEvent } from '../../../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../../../src/domain/events/envelope.ts';
import type { SessionId } from '../../../../src/domain/values/ids.ts';
import { TURNS, turnOf } from '../../../../src/domain/sweep-turns.ts';
import { WatchedOwners } from '../../../../src/features/deposits/solana/owners.ts';
import { seedWatchedOwners } from '../../../../src/features/deposits/solana/seed.ts';
import type { ReadModel } from '../../../../src/ports/read-model/read-model.ts';

const NOW = 1_800_000_000;
const id = (name: string): SessionId => `cs_${name}` as SessionId;
const watched = (name: string, changes: object = {}) => ({
  owner: `owner-${name}`,
  sessionId: id(name),
  createdAtSec: NOW,
  expiresAtSec: NOW + 1_800,
  endedAtSec: null,
  ...changes,
});
const stored = (name: string, event: object) =>
  ({ stream: `session-cs_${name}`, atMs: NOW * 1000, event }) as unknown as StoredEvent<DomainEvent>;
const created = (name: string, mode: 'test' | 'live', networks: string[]) =>
  stored(name, {
    type: 'SessionCreated',
    data: {
      mode,
      sessionId: id(name),
      createdAtSec: NOW,
      expiresAtSec: NOW + 1_800,
      paymentOptions: networks.map((network) => ({ network, address: `owner-${name}` })),
    },
  });
const atTurns = (owners: WatchedOwners, tier: 'recent' | 'old', nowSec: number): string[] =>
  Array.from({ length: TURNS }, (_, turn) => names(owners.atTurn(tier, turn, nowSec))).flat();
const names = (list: readonly { owner: string }[]): string[] => list.map(({ owner }) => owner);

describe('the watched owners', () => {
  it('are those of sessions of the mode that offer Solana', () => {
    const owners = new WatchedOwners('test');
    owners.apply(created('a', 'test', ['ethereum', 'solana']));
    owners.apply(created('b', 'live', ['solana']));
    owners.apply(created('c', 'test', ['tron']));
    owners.apply(created('a', 'test', ['ethereum', 'solana']));
    expect(owners.size).toBe(1);
    expect(owners.ofSession(id('a'))).toMatchObject({ owner: 'owner-a', endedAtSec: null });
  });

  it('are polled often while their session is young or about to expire', () => {
    const owners = new WatchedOwners('test');
    owners.add(watched('young'));
    owners.add(watched('old', { createdAtSec: NOW - 700, expiresAtSec: NOW + 1_100 }));
    owners.add(watched('expiring', { createdAtSec: NOW - 1_790, expiresAtSec: NOW + 10 }));
    owners.add(watched('expired', { createdAtSec: NOW - 1_900, expiresAtSec: NOW - 100 }));
    const { fresh, waiting } = owners.open(NOW, NOW);
    expect(names(fresh)).toEqual(['owner-young', 'owner-expiring', 'owner-expired']);
    expect(names(waiting)).toEqual(['owner-old']);
  });

  it('follow a deadline that was brought nearer', () => {
    const owners = new WatchedOwners('test');
    owners.add(watched('a', { createdAtSec: NOW - 700, expiresAtSec: NOW + 1_100 }));
    owners.apply(stored('a', { type: 'SessionDeadlineMoved', data: { expiresAtSec: NOW, movedAtSec: NOW } }));
    expect(names(owners.open(NOW, NOW).fresh)).toEqual(['owner-a']);
  });

  it.each(['SessionPaid', 'SessionExpired', 'SessionFailed', 'SessionCancelled'])(
    'stay on the list after %s, for money that comes late',
    (type) => {
      const owners = new WatchedOwners('test');
      owners.add(watched('a'));
      owners.apply(stored('a', { type, data: {} }));
      expect(owners.open(NOW, NOW).fresh).toEqual([]);
      expect(owners.find('owner-a')).toMatchObject({ endedAtSec: NOW });
      expect(atTurns(owners, 'recent', NOW + 60)).toEqual(['owner-a']);
    },
  );

  it('come up once a round, each at its own turn', () => {
    const owners = new WatchedOwners('test');
    const given = Array.from({ length: 500 }, (_, index) => watched(`${index}`, { endedAtSec: NOW }));
    for (const owner of given) owners.add(owner);
    expect(atTurns(owners, 'recent', NOW).sort()).toEqual(names(given).sort());
    expect(owners.atTurn('recent', turnOf('owner-7'), NOW).map(({ owner }) => owner)).toContain('owner-7');
    const busiest = Math.max(...Array.from({ length: TURNS }, (_, turn) => owners.atTurn('recent', turn, NOW).length));
    expect(busiest).toBeLessThan(8);
    expect(atTurns(owners, 'old', NOW)).toEqual([]);
  });

  it('are polled less and less often as their session ages', () => {
    const owners = new WatchedOwners('test');
    owners.add(watched('a', { endedAtSec: NOW }));
    atTurns(owners, 'recent', NOW + 3_600);
    expect([owners.sizeOf('recent'), owners.sizeOf('old')]).toEqual([1, 0]);
    expect(atTurns(owners, 'recent', NOW + 25 * 3_600)).toEqual(['owner-a']);
    expect([owners.sizeOf('recent'), owners.sizeOf('old')]).toEqual([0, 1]);
    expect(atTurns(owners, 'old', NOW + 26 * 3_600)).toEqual(['owner-a']);
    expect(owners.size).toBe(1);
  });

  it('are old from the beginning when they were read long after their session ended', () => {
    const owners = new WatchedOwners('test');
    owners.add(watched('read', { endedAtSec: NOW }), NOW + 25 * 3_600);
    owners.add(watched('unread', { endedAtSec: NOW }), NOW + 3_600);
    expect([atTurns(owners, 'recent', NOW), atTurns(owners, 'old', NOW)]).toEqual([['owner-unread'], ['owner-read']]);
  });

  it('are not waited for without end when nobody ends their session', () => {
    const owners = new WatchedOwners('test');
    owners.add(watched('a'));
    const forgottenAt = NOW + 1_800 + 3_601;
    expect(names(owners.open(forgottenAt - 1, forgottenAt - 1).fresh)).toEqual(['owner-a']);
    expect(owners.open(forgottenAt, forgottenAt).fresh).toEqual([]);
    expect(owners.sizeOf('recent')).toBe(1);
  });

  it('are waited for until they were read past their deadline, however late that is', () => {
    const owners = new WatchedOwners('test');
    owners.add(watched('a'));
    const longAfter = NOW + 10 * 3_600;
    expect(names(owners.open(longAfter, null).fresh)).toEqual(['owner-a']);
    expect(names(owners.open(longAfter, NOW + 1_800).fresh)).toEqual(['owner-a']);
    expect(owners.open(longAfter, longAfter).fresh).toEqual([]);
  });
});

describe('the list of owners at start', () => {
  it('holds every session of the mode that offered Solana, open or ended', async () => {
    const row = (name: string, changes: object = {}) => ({
      key: name,
      row: {
        sessionId: id(name),
        mode: 'test',
        status: 'open',
        createdAtSec: NOW,
        expiresAtSec: NOW + 1_800,
        paidAtSec: null,
        options: `tron USDT T 6 1 T${name} 0 - - -|solana USDT mint 6 genesis owner-${name} 0 - - -`,
        ...changes,
      },
    });
    const rows = [
      ...Array.from({ length: 1_000 }, (_, index) => row(`page-${String(index).padStart(4, '0')}`)),
      row('paid', { status: 'paid', paidAtSec: NOW + 5 }),
      row('expired', { status: 'expired' }),
      row('live', { mode: 'live' }),
      row('elsewhere', { options: 'tron USDT T 6 1 Tx 0 - - -' }),
      row('other-coin', {
        dueCoin: 'USDT',
        options: 'tron USDT T 6 1 Tx 0 - - -|solana USDC M 6 gen owner-other-coin 0 - - -',
      }),
    ];
    const owners = new WatchedOwners('test');
    await seedWatchedOwners(
      owners,
      'test',
      {
        scan: (async (_: string, { afterKey, limit }: { afterKey?: string; limit: number }) => {
          const from = rows.findIndex(({ key }) => key === afterKey) + 1;
          return rows.slice(from, from + limit);
        }) as ReadModel['scan'],
      },
      NOW,
    );
    expect(owners.size).toBe(1_003);
    expect(owners.find('owner-other-coin')).not.toBeNull();
    expect(owners.find('owner-page-0007')).toMatchObject({ sessionId: 'cs_page-0007', endedAtSec: null });
    expect(owners.find('owner-paid')).toMatchObject({ endedAtSec: NOW + 5 });
    expect(owners.find('owner-expired')).toMatchObject({ endedAtSec: NOW + 1_800 });
    expect(owners.find('owner-live')).toBeNull();
  });
});
