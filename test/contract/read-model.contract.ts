import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Change, ReadModel } from '../../src/ports/read-model/read-model.ts';

/** A read model of its own for one test: `reopen` closes it and opens what is stored again. */
export interface OpenedReadModel {
  readonly model: ReadModel;
  reopen(): Promise<ReadModel>;
  /** Closes whatever is open and removes what was stored. */
  dispose(): Promise<void>;
}

const LIST = 'records@1/test/mer_a/*';
const SECOND = 1_800_000_000;
/** Three members a second, from order 0. */
const atSec = (order: number): number => SECOND + Math.floor(order / 3);
const name = (order: number): string => `member-${order}`;

const enlist = (order: number, list = LIST): Change => ({
  op: 'enlist',
  lists: [list],
  member: name(order),
  order,
  atSec: atSec(order),
});
const delist = (order: number, list = LIST): Change => ({ op: 'delist', lists: [list], member: name(order), order });
const put = (table: string, key: string, row: Record<string, string | number>): Change => ({
  op: 'put',
  table,
  key,
  row,
});
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** What every read model must do; `open` gives an empty one. */
export function readModelContract(adapter: string, open: () => Promise<OpenedReadModel>): void {
  describe(`read model contract: ${adapter}`, () => {
    let opened: OpenedReadModel;
    let model: ReadModel;
    let position = 0;
    const apply = (...changes: Change[]): Promise<void> => model.apply('records', changes, String((position += 1)));
    const orders = (members: readonly { order: number }[]): number[] => members.map((member) => member.order);

    beforeEach(async () => {
      opened = await open();
      model = opened.model;
      position = 0;
    });
    afterEach(() => opened.dispose());

    describe('rows and checkpoints', () => {
      it('knows no checkpoint, row or member before the first apply', async () => {
        expect(await model.checkpoint('records')).toBeNull();
        expect(await model.get('rows@1', 'a')).toBeNull();
        expect(await model.getMany('rows@1', ['a', 'b'])).toEqual([null, null]);
        expect(await model.scan<{ key: string; index: number }>('rows@1', { limit: 10 })).toEqual([]);
        expect(await model.page(LIST, { offset: 0, limit: 10 })).toEqual({ members: [], total: 0 });
        expect(await model.before(LIST, { before: null, limit: 10 })).toEqual([]);
      });

      it('keeps rows and the checkpoint of an apply over a restart', async () => {
        await apply(put('rows@1', 'a', { n: 1, text: 'ä "quoted" \u2028' }), enlist(0));
        model = await opened.reopen();
        expect(await model.checkpoint('records')).toBe('1');
        expect(await model.get('rows@1', 'a')).toEqual({ n: 1, text: 'ä "quoted" \u2028' });
        expect(await model.page(LIST, { offset: 0, limit: 10 })).toEqual({
          members: [{ member: name(0), order: 0 }],
          total: 1,
        });
      });

      it('moves the checkpoint of an apply without changes', async () => {
        await apply();
        expect(await model.checkpoint('records')).toBe('1');
      });

      it('keeps a checkpoint for each projection', async () => {
        await Promise.all([model.apply('one', [], '5'), model.apply('other', [], '7')]);
        expect([await model.checkpoint('one'), await model.checkpoint('other')]).toEqual(['5', '7']);
      });

      it('begins where it was left, and from nothing after a clear', async () => {
        await apply(put('rows@1', 'a', { n: 1 }));
        model = await opened.reopen();
        expect(await model.checkpoint('records')).toBe('1');
        await apply(put('rows@1', 'a', { n: 2 }));
        await model.clear({ projection: 'records', tables: ['rows@1'], lists: [] });
        expect(await model.checkpoint('records')).toBeNull();
        await apply(put('rows@1', 'b', { n: 3 }));
        expect(await model.getMany('rows@1', ['a', 'b'])).toEqual([null, { n: 3 }]);
      });

      it('names the history of its rows, the same one over applies and restarts', async () => {
        expect(await model.generation('records')).toBeNull();
        await apply(put('rows@1', 'a', { n: 1 }));
        const generation = await model.generation('records');
        expect(generation).toEqual(expect.any(String));
        await apply(put('rows@1', 'a', { n: 2 }));
        model = await opened.reopen();
        expect(await model.generation('records')).toBe(generation);
      });

      it('replaces a row by the last put and forgets it after a delete', async () => {
        await apply(put('rows@1', 'a', { n: 1 }), put('rows@1', 'a', { n: 2 }), put('rows@1', 'b', { n: 3 }));
        expect(await model.getMany('rows@1', ['b', 'a', 'c'])).toEqual([{ n: 3 }, { n: 2 }, null]);
        await apply({ op: 'delete', table: 'rows@1', key: 'a' }, { op: 'delete', table: 'rows@1', key: 'never' });
        expect(await model.getMany('rows@1', ['b', 'a'])).toEqual([{ n: 3 }, null]);
      });

      it('shows a row at once, with the history that it is of', async () => {
        expect(model.peek('records', 'rows@1', 'a')).toEqual({ row: null, generation: null });
        await apply(put('rows@1', 'a', { n: 1 }));
        const generation = await model.generation('records');
        expect(model.peek('records', 'rows@1', 'a')).toEqual({ row: { n: 1 }, generation });
        expect(model.peek('records', 'rows@1', 'b')).toEqual({ row: null, generation });
        await model.clear({ projection: 'records', tables: ['rows@1'], lists: [] });
        expect(model.peek('records', 'rows@1', 'a')).toEqual({ row: null, generation: null });
      });

      it('gives keys in the order in which their rows were first written, over restarts', async () => {
        const since = (place: number, limit: number): ReturnType<ReadModel['keysSince']> =>
          model.keysSince('records', 'rows@1', place, limit);
        expect(await since(0, 9)).toEqual({ generation: null, keys: [], place: 0 });
        await apply(put('rows@1', 'c', { n: 1 }), put('rows@1', 'a', { n: 1 }));
        await apply(put('rows@1', 'c', { n: 2 }), put('rows@1', 'b', { n: 2 }), put('others@1', 'd', { n: 2 }));
        const first = await since(0, 2);
        expect(first.keys).toEqual(['c', 'a']);
        model = await opened.reopen();
        const second = await since(first.place, 2);
        expect(second).toEqual({ generation: first.generation, keys: ['b'], place: expect.any(Number) as number });
        expect(await since(second.place, 2)).toEqual({ ...second, keys: [] });
        expect((await since(second.place - 1, 2)).keys).toEqual(['b']);
      });

      it('gives a history that replaces another one a name that none had before', async () => {
        const owned = { projection: 'records', tables: ['rows@1'], lists: [] };
        const seen: unknown[] = [];
        for (let turn = 0; turn < 3; turn += 1) {
          await apply(put('rows@1', 'a', { n: 1 }));
          seen.push(await model.generation('records'));
          const next = model.next(owned);
          await next.begin();
          await next.apply([put('rows@1', 'b', { n: 1 })], '9');
          await next.promote();
          seen.push(await model.generation('records'));
          expect((await model.keysSince('records', 'rows@1', 0, 9)).keys).toEqual(['b']);
          await model.clear(owned);
        }
        expect(new Set(seen).size).toBe(6);
      });

      it('keeps equal keys of different tables apart', async () => {
        await apply(put('rows@1', 'a', { n: 1 }), put('others@1', 'a', { n: 2 }));
        expect([await model.get('rows@1', 'a'), await model.get('others@1', 'a')]).toEqual([{ n: 1 }, { n: 2 }]);
      });

      it('applies all of an apply or nothing, the checkpoint included', async () => {
        await apply(put('rows@1', 'a', { n: 1 }));
        const broken = model.apply(
          'records',
          [
            put('rows@1', 'a', { n: 2 }),
            put('new@1', 'a', { n: 2 }),
            enlist(0),
            { ...enlist(1), order: 0.5 } as Change,
          ],
          '2',
        );
        const beside = model.apply('beside', [put('beside@1', 'a', { n: 3 })], '2');
        await expect(broken).rejects.toThrow();
        await beside;
        expect(await model.checkpoint('records')).toBe('1');
        expect(await model.get('rows@1', 'a')).toEqual({ n: 1 });
        expect(await model.get('new@1', 'a')).toBeNull();
        expect(await model.page(LIST, { offset: 0, limit: 10 })).toEqual({ members: [], total: 0 });
        expect([await model.checkpoint('beside'), await model.get('beside@1', 'a')]).toEqual(['2', { n: 3 }]);
        await apply(enlist(0));
        expect((await model.page(LIST, { offset: 0, limit: 10 })).total).toBe(1);
      });

      it('scans a table in the order of its keys, a page at a time', async () => {
        await apply(...['b', 'a', 'd', 'c', '10', '9'].map((key) => put('rows@1', key, { key })));
        const first = await model.scan<{ key: string; index: number }>('rows@1', { limit: 4 });
        expect(first.map((entry) => entry.key)).toEqual(['10', '9', 'a', 'b']);
        expect(await model.scan<{ key: string; index: number }>('rows@1', { afterKey: 'b', limit: 4 })).toEqual([
          { key: 'c', row: { key: 'c' } },
          { key: 'd', row: { key: 'd' } },
        ]);
      });

      it('scans keys in the order of their bytes', async () => {
        const keys = ['', 'a', 'a/', 'b', 'é', '\uffee', '😀'];
        await apply(...[...keys].reverse().map((key) => put('rows@1', `k${key}`, { key })));
        expect(
          (await model.scan<{ key: string; index: number }>('rows@1', { limit: 9 })).map(({ row }) => row.key),
        ).toEqual(keys);
        expect(
          (await model.scan<{ key: string; index: number }>('rows@1', { afterKey: 'k\uffee', limit: 9 })).map(
            ({ row }) => row.key,
          ),
        ).toEqual(['😀']);
      });

      it('scans what is there: rows put twice once, deleted ones not, those put anew again', async () => {
        const key = (index: number): string => String(index).padStart(5, '0');
        await apply(...upTo(2_500).map((index) => put('rows@1', key(index), { index })));
        await apply(
          put('rows@1', key(7), { index: 7 }),
          ...[3, 1_200, 2_499].map((index): Change => ({ op: 'delete', table: 'rows@1', key: key(index) })),
        );
        await apply(put('rows@1', key(1_200), { index: 1_200 }), put('rows@1', key(8), { index: 8 }), {
          op: 'delete',
          table: 'rows@1',
          key: key(8),
        });
        const seen: unknown[] = [];
        for (let afterKey = ''; ;) {
          const page = await model.scan<{ key: string; index: number }>('rows@1', { afterKey, limit: 1_000 });
          seen.push(...page.map(({ row }) => row.index));
          if (page.length < 1_000) break;
          afterKey = page.at(-1)!.key;
        }
        expect(seen).toEqual(upTo(2_499).filter((index) => index !== 3 && index !== 8));
      });
    });

    describe('lists', () => {
      it('pages newest first with the total, past the end with no members', async () => {
        await apply(...upTo(45).map((order) => enlist(order)));
        const pages = await Promise.all(
          [0, 20, 40, 45, 10_000].map((offset) => model.page(LIST, { offset, limit: 20 })),
        );
        expect(pages.map((page) => page.total)).toEqual([45, 45, 45, 45, 45]);
        expect(pages.map((page) => orders(page.members))).toEqual([
          upTo(20).map((n) => 44 - n),
          upTo(20).map((n) => 24 - n),
          [4, 3, 2, 1, 0],
          [],
          [],
        ]);
        expect(pages[0]!.members[0]).toEqual({ member: name(44), order: 44 });
      });

      it('pages by rank when members have left and came late', async () => {
        await apply(
          ...upTo(300)
            .filter((n) => n !== 7)
            .map((order) => enlist(order)),
        );
        await apply(
          ...upTo(300)
            .filter((n) => n % 3 !== 0 && n !== 7)
            .map((order) => delist(order)),
          enlist(7),
        );
        const left = upTo(300)
          .filter((n) => n % 3 === 0 || n === 7)
          .reverse();
        const { members, total } = await model.page(LIST, { offset: 60, limit: 45 });
        expect([total, orders(members)]).toEqual([left.length, left.slice(60)]);
      });

      it('finds ranks far apart, where most orders are not on the list', async () => {
        const far = [0, 63, 64, 65_535, 65_536, 131_072, 1_000_000, 1_000_001];
        await apply(...far.map((order) => enlist(order)));
        const found = await Promise.all(
          upTo(8).map(async (offset) => (await model.page(LIST, { offset, limit: 1 })).members[0]?.order),
        );
        expect(found).toEqual([...far].reverse());
        await apply(delist(65_535), delist(1_000_000));
        expect(orders((await model.page(LIST, { offset: 1, limit: 3 })).members)).toEqual([131_072, 65_536, 64]);
      });

      it('takes a repeated enlist and the delist of a stranger as nothing', async () => {
        await apply(enlist(1), enlist(1), delist(2), {
          op: 'delist',
          lists: [LIST],
          member: 'somebody else',
          order: 1,
        });
        await apply(enlist(1), delist(3, 'no such list'));
        expect(await model.page(LIST, { offset: 0, limit: 10 })).toEqual({
          members: [{ member: name(1), order: 1 }],
          total: 1,
        });
      });

      it('ends empty when every member left, and takes them back', async () => {
        await apply(enlist(0), enlist(70_000));
        await apply(delist(0), delist(70_000));
        expect(await model.page(LIST, { offset: 0, limit: 10 })).toEqual({ members: [], total: 0 });
        await apply(enlist(70_000));
        expect(await model.page(LIST, { offset: 0, limit: 10 })).toEqual({
          members: [{ member: name(70_000), order: 70_000 }],
          total: 1,
        });
      });

      it('walks down by order, whatever is added meanwhile', async () => {
        await apply(...upTo(10).map((order) => enlist(order)));
        const first = await model.before(LIST, { before: null, limit: 4 });
        await apply(enlist(10));
        const second = await model.before(LIST, { before: first.at(-1)!.order, limit: 4 });
        const third = await model.before(LIST, { before: second.at(-1)!.order, limit: 4 });
        expect([first, second, third].map(orders)).toEqual([
          [9, 8, 7, 6],
          [5, 4, 3, 2],
          [1, 0],
        ]);
        expect(await model.before(LIST, { before: 0, limit: 4 })).toEqual([]);
      });

      it('takes a range of seconds, both included, with its total', async () => {
        await apply(...upTo(30).map((order) => enlist(order)));
        await apply(delist(6), delist(14));
        const range = { fromSec: SECOND + 2, toSec: SECOND + 4 };
        expect(await model.page(LIST, { offset: 0, limit: 3, ...range })).toEqual({
          members: [13, 12, 11].map((order) => ({ member: name(order), order })),
          total: 7,
        });
        expect(orders((await model.page(LIST, { offset: 5, limit: 9, ...range })).members)).toEqual([8, 7]);
        expect(orders(await model.before(LIST, { before: 12, limit: 9, ...range }))).toEqual([11, 10, 9, 8, 7]);
        expect((await model.page(LIST, { offset: 0, limit: 1, fromSec: SECOND + 9 })).total).toBe(3);
        expect((await model.page(LIST, { offset: 0, limit: 1, toSec: SECOND })).total).toBe(3);
        for (const none of [
          { fromSec: SECOND + 10 },
          { toSec: SECOND - 1 },
          { fromSec: SECOND + 5, toSec: SECOND + 3 },
        ]) {
          expect(await model.page(LIST, { offset: 0, limit: 9, ...none })).toEqual({ members: [], total: 0 });
          expect(await model.before(LIST, { before: null, limit: 9, ...none })).toEqual([]);
        }
      });

      it('takes a range that lies between the seconds of its members', async () => {
        const sparse = (order: number): Change => ({
          op: 'enlist',
          lists: [LIST],
          member: name(order),
          order,
          atSec: SECOND + order * 10,
        });
        await apply(...upTo(5).map(sparse));
        expect(
          orders((await model.page(LIST, { offset: 0, limit: 9, fromSec: SECOND + 11, toSec: SECOND + 39 })).members),
        ).toEqual([3, 2]);
        expect((await model.page(LIST, { offset: 0, limit: 9, fromSec: SECOND + 11, toSec: SECOND + 19 })).total).toBe(
          0,
        );
      });

      it('knows the seconds of members that came back in another order', async () => {
        await apply(...[9, 3, 6, 0, 4].map((order) => enlist(order)));
        await apply(delist(3), delist(9));
        await apply(enlist(3));
        expect(
          orders((await model.page(LIST, { offset: 0, limit: 9, fromSec: SECOND + 1, toSec: SECOND + 1 })).members),
        ).toEqual([4, 3]);
      });
    });

    describe('views of one ordinalList', () => {
      const [all, odd, late] = [
        'records@1/test/mer_b?*',
        'records@1/test/mer_b?odd',
        'records@1/test/mer_b?late/*',
      ] as const;
      const show = (order: number, ...lists: string[]): Change => ({
        op: 'enlist',
        lists,
        member: name(order),
        order,
        atSec: atSec(order),
      });
      const hide = (order: number, ...lists: string[]): Change => ({ op: 'delist', lists, member: name(order), order });
      const page = async (list: string) => {
        const { members, total } = await model.page(list, { offset: 0, limit: 9 });
        expect(members).toEqual(members.map(({ order }) => ({ member: name(order), order })));
        return [total, orders(members)];
      };

      it('show what each of them was given, whether a list of their ordinalList has members of its own or not', async () => {
        await apply(
          ...upTo(4).map((order) => show(order, all, ...(order % 2 === 1 ? [odd] : []))),
          show(70_000, all, late),
        );
        expect([await page(all), await page(odd), await page(late)]).toEqual([
          [5, [70_000, 3, 2, 1, 0]],
          [2, [3, 1]],
          [1, [70_000]],
        ]);
        expect(await page('records@1/test/mer_b')).toEqual([0, []]);
        expect(await page('records@1/test/mer_b?none')).toEqual([0, []]);
        await apply(show(2, 'records@1/test/mer_b'));
        expect(await page('records@1/test/mer_b')).toEqual([1, [2]]);
      });

      it('lose a member alone, and take it back', async () => {
        await apply(show(0, all, odd), show(1, all, odd), show(1, all, odd));
        await apply(hide(1, odd, late), hide(0, all));
        expect([await page(all), await page(odd)]).toEqual([
          [1, [1]],
          [1, [0]],
        ]);
        await apply(hide(0, odd));
        model = await opened.reopen();
        await apply(show(0, late, all));
        expect([await page(all), await page(odd), await page(late)]).toEqual([
          [2, [1, 0]],
          [0, []],
          [1, [0]],
        ]);
      });

      it('take no member in whose place another one is', async () => {
        await apply(show(5, all), { op: 'delist', lists: [all], member: 'somebody else', order: 5 });
        expect(await page(all)).toEqual([1, [5]]);
      });

      it('take ranges of seconds by their own members', async () => {
        await apply(...upTo(300).map((order) => show(order, all, ...(order % 100 === 7 ? [odd] : []))));
        const range = { fromSec: SECOND + 30, toSec: SECOND + 80 };
        expect(await model.page(odd, { offset: 0, limit: 9, ...range })).toEqual({
          members: [207, 107].map((order) => ({ member: name(order), order })),
          total: 2,
        });
        expect(orders(await model.before(odd, { before: 207, limit: 9, toSec: SECOND + 80 }))).toEqual([107, 7]);
        expect((await model.page(all, { offset: 0, limit: 1, ...range })).total).toBe(153);
      });

      it('go and come with their set', async () => {
        await apply(show(3, all, odd));
        await model.clear({ projection: 'records', tables: [], lists: ['records@1/'] });
        expect(await page(all)).toEqual([0, []]);
        await apply({ op: 'enlist', lists: [odd], member: 'another', order: 3, atSec: SECOND });
        expect((await model.page(odd, { offset: 0, limit: 9 })).members).toEqual([{ member: 'another', order: 3 }]);
      });
    });

    it('gives the rows of paged members as they are now, also when rows were deleted and put anew since', async () => {
      const member = (order: number, n: number): Change[] => [put('rows@1', name(order), { order, n }), enlist(order)];
      const rowsOfPage = async () => {
        const { members } = await model.page(LIST, { offset: 0, limit: 9 });
        return model.getMany(
          'rows@1',
          members.map((one) => one.member),
        );
      };
      await apply(...member(0, 1), ...member(1, 1), ...member(2, 1));
      expect(await rowsOfPage()).toEqual([2, 1, 0].map((order) => ({ order, n: 1 })));
      await apply(
        { op: 'delete', table: 'rows@1', key: name(2) },
        put('rows@1', 'another', { n: 9 }),
        put('rows@1', name(1), { order: 1, n: 2 }),
      );
      expect(await rowsOfPage()).toEqual([null, { order: 1, n: 2 }, { order: 0, n: 1 }]);
      await apply(put('rows@1', name(2), { order: 2, n: 3 }));
      expect(await rowsOfPage()).toEqual([
        { order: 2, n: 3 },
        { order: 1, n: 2 },
        { order: 0, n: 1 },
      ]);
      expect(await model.getMany('never@1', [name(2)])).toEqual([null]);
    });

    describe('clear', () => {
      it('forgets everything of one projection and nothing of another', async () => {
        await model.apply(
          'one',
          [put('one@1', 'a', { n: 1 }), ...upTo(100).map((order) => enlist(order, 'one@1/x'))],
          '9',
        );
        await model.apply('other', [put('other@1', 'a', { n: 2 }), enlist(0, 'other@1/x')], '9');
        expect(await model.get('one@1', 'a')).toEqual({ n: 1 });
        await model.clear({ projection: 'one', tables: ['one@1', 'never@1'], lists: ['one@1/'] });
        expect([
          await model.checkpoint('one'),
          await model.get('one@1', 'a'),
          await model.scan('one@1', { limit: 9 }),
        ]).toEqual([null, null, []]);
        expect(await model.page('one@1/x', { offset: 0, limit: 10 })).toEqual({ members: [], total: 0 });
        expect([await model.checkpoint('other'), await model.get('other@1', 'a')]).toEqual(['9', { n: 2 }]);
        expect((await model.page('other@1/x', { offset: 0, limit: 10 })).total).toBe(1);
      });

      it('fills again as if nothing had been there', async () => {
        await model.apply(
          'one',
          [put('one@1', 'a', { n: 1 }), ...upTo(100).map((order) => enlist(order, 'one@1/x'))],
          '9',
        );
        await model.clear({ projection: 'one', tables: ['one@1'], lists: ['one@1/'] });
        await model.apply('one', [put('one@1', 'b', { n: 2 }), enlist(3, 'one@1/x')], '1');
        expect(await model.getMany('one@1', ['a', 'b'])).toEqual([null, { n: 2 }]);
        expect(await model.scan('one@1', { limit: 9 })).toEqual([{ key: 'b', row: { n: 2 } }]);
        expect(await model.page('one@1/x', { offset: 0, limit: 10 })).toEqual({
          members: [{ member: name(3), order: 3 }],
          total: 1,
        });
        expect((await model.page('one@1/x', { offset: 0, limit: 10, fromSec: SECOND, toSec: SECOND })).total).toBe(0);
      });
    });

    describe('rows built beside', () => {
      const owned = { projection: 'records', tables: ['rows@1', 'never@1'], lists: ['records@1/'] };
      const listed = async () => model.page(LIST, { offset: 0, limit: 10 });
      const served = async () => [
        await model.checkpoint('records'),
        await model.getMany('rows@1', ['a', 'b']),
        (await listed()).total,
      ];

      it('are seen by nobody but their builder until they take the place of the others', async () => {
        await apply(put('rows@1', 'a', { n: 1 }), enlist(0), enlist(1));
        const before = await served();
        const generation = await model.generation('records');
        const next = model.next(owned);
        expect(await next.isBegun()).toBe(false);
        expect(await next.begin()).toBeNull();
        expect(await next.isBegun()).toBe(true);
        await next.apply([put('rows@1', 'b', { n: 2 }), enlist(7)], '7');
        expect(await next.getMany('rows@1', ['a', 'b'])).toEqual([null, { n: 2 }]);
        expect(await next.getMany('never@1', ['a'])).toEqual([null]);
        expect(await served()).toEqual(before);
        await next.promote();
        expect(await model.generation('records')).not.toBe(generation);
        expect(await served()).toEqual(['7', [null, { n: 2 }], 1]);
        expect((await listed()).members).toEqual([{ member: name(7), order: 7 }]);
        expect(await model.scan<{ key: string; index: number }>('rows@1', { limit: 9 })).toEqual([
          { key: 'b', row: { n: 2 } },
        ]);
        expect(await next.isBegun()).toBe(false);
      });

      it('are still in progress after a restart, and continue from where they stopped or from scratch', async () => {
        await apply(put('rows@1', 'a', { n: 1 }), enlist(0));
        const before = await served();
        await model.next(owned).begin();
        await model.next(owned).apply([put('rows@1', 'b', { n: 2 }), enlist(7)], '7');
        model = await opened.reopen();
        const next = model.next(owned);
        expect([await next.isBegun(), await served()]).toEqual([true, before]);
        const reached = await next.begin();
        expect(['7', null]).toContain(reached);
        const whole = reached === null ? [put('rows@1', 'b', { n: 2 }), enlist(7)] : [];
        if (reached === null) expect(await next.getMany('rows@1', ['b'])).toEqual([null]);
        await next.apply([...whole, put('rows@1', 'b', { n: 3 }), enlist(8)], '8');
        await next.promote();
        expect(await served()).toEqual(['8', [null, { n: 3 }], 2]);
        await model.apply('records', [put('rows@1', 'a', { n: 4 }), delist(7)], '9');
        expect(await served()).toEqual(['9', [{ n: 4 }, { n: 3 }], 1]);
      });

      it('are gone once dropped, and are rebuilt from scratch', async () => {
        await apply(put('rows@1', 'a', { n: 1 }));
        const next = model.next(owned);
        await next.begin();
        await next.apply([put('rows@1', 'b', { n: 2 }), enlist(7)], '7');
        await next.drop();
        expect(await next.isBegun()).toBe(false);
        expect(await next.begin()).toBeNull();
        expect(await next.getMany('rows@1', ['b'])).toEqual([null]);
        await next.apply([put('rows@1', 'b', { n: 3 })], '3');
        await next.promote();
        expect(await served()).toEqual(['3', [null, { n: 3 }], 0]);
      });

      it('do not take the place of anything while nothing was built', async () => {
        await apply(put('rows@1', 'a', { n: 1 }));
        await model.next(owned).begin();
        await expect(model.next(owned).promote()).rejects.toThrow();
        expect(await served()).toEqual(['1', [{ n: 1 }, null], 0]);
      });

      it('go with a clear', async () => {
        await model.next(owned).begin();
        await model.next(owned).apply([put('rows@1', 'b', { n: 2 })], '7');
        await model.clear(owned);
        expect(await model.next(owned).isBegun()).toBe(false);
      });

      it('replace each other again and again', async () => {
        for (const n of upTo(4)) {
          const next = model.next(owned);
          await next.begin();
          await next.apply([put('rows@1', 'a', { n }), enlist(n)], String(n + 1));
          await next.promote();
          expect([await model.get('rows@1', 'a'), (await listed()).members]).toEqual([
            { n },
            [{ member: name(n), order: n }],
          ]);
        }
      });
    });

    it('applies what was given before it closed', async () => {
      const applies = upTo(20).map((order) => apply(put('rows@1', String(order), { order }), enlist(order)));
      model = await opened.reopen();
      await Promise.all(applies);
      expect((await model.page(LIST, { offset: 0, limit: 1 })).total).toBe(20);
      expect(await model.checkpoint('records')).toBe('20');
    });
  });
}
