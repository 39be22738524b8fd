import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyIndex } from '../../src/adapters/sqlite/read-model/key-index.ts';
import { NextTable, ServedTable } from '../../src/adapters/sqlite/read-model/row-table.ts';

const KEYS = 24;
const key = fc.nat({ max: KEYS - 1 }).map((number) => `key/${number}`);
const step = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant('put' as const), key }), weight: 6 },
  { arbitrary: fc.record({ kind: fc.constant('remove' as const), key }), weight: 3 },
  { arbitrary: fc.record({ kind: fc.constant('index' as const), key }), weight: 1 },
);

describe('a table of rows that are not served yet', () => {
  it('holds what a map holds, wherever its keys are kept, and when they become too many', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), fc.integer({ min: 2, max: 60 }), (steps, maxKeys) => {
        const db = new DatabaseSync(':memory:');
        const expected = new Map<string, string>();
        const ids = new Map<string, number>();
        const table = new NextTable(db, 'next_1', maxKeys);
        steps.forEach(({ kind, key: name }, index) => {
          if (kind === 'put') {
            const id = table.put(name, `${index}`);
            if (expected.has(name)) expect(id).toBe(ids.get(name));
            ids.set(name, id);
            expected.set(name, `${index}`);
          } else if (kind === 'remove') {
            table.remove(name);
            expected.delete(name);
          } else table.index();
        });
        for (let number = 0; number < KEYS; number += 1)
          expect(table.get(`key/${number}`)).toBe(expected.get(`key/${number}`) ?? null);
        table.index();
        expect(
          Object.fromEntries(
            db
              .prepare('SELECT key, row FROM next_1')
              .all()
              .map((row) => [row['key'], row['row']]),
          ),
        ).toEqual(Object.fromEntries(expected));
        expect(() => db.exec("INSERT INTO next_1 (key, row) VALUES ('twice', ''), ('twice', '')")).toThrow('UNIQUE');
        db.close();
      }),
      { numRuns: 200 },
    );
  });
});

describe('a table of rows that are served', () => {
  it('holds the same as a map, and returns the id under which each row is stored', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ kind: fc.constantFrom('put', 'put', 'remove'), key }), { maxLength: 80, size: 'max' }),
        (steps) => {
          const db = new DatabaseSync(':memory:');
          const table = new ServedTable(db, 'rows_1');
          const expected = new Map<string, { id: number; row: string }>();
          steps.forEach(({ kind, key: name }, index) => {
            if (kind === 'put') {
              const id = table.put(name, `${index}`);
              expect(id).toBe(expected.get(name)?.id ?? id);
              expected.set(name, { id, row: `${index}` });
            } else {
              table.remove(name);
              expected.delete(name);
            }
          });
          const stored = db.prepare('SELECT key, id, row FROM rows_1').all();
          expect(Object.fromEntries(stored.map(({ key: name, id, row }) => [name, { id, row }]))).toEqual(
            Object.fromEntries(expected),
          );
          db.close();
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('an index of keys in memory', () => {
  it('finds every key that was added, and nothing else', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { minLength: 0, maxLength: 3_000, size: 'max' }), (keys) => {
        const index = new KeyIndex();
        keys.forEach((name, at) => index.add(name, at + 1));
        const find = (name: string): number => index.find(name, (id) => keys[id - 1] === name);
        expect(keys.map(find)).toEqual(keys.map((_, at) => at + 1));
        expect(index.size).toBe(keys.length);
        expect(find(`${keys.join('')}!`)).toBe(0);
      }),
      { numRuns: 20 },
    );
  });
});
