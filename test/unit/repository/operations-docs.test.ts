import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { REPOSITORY } from '../../support/repository.ts';

const text = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');

it('docs/operations.md names every setting that src/config.ts reads', () => {
  const settings = [...text('src/config.ts').matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map((match) => match[1]!);
  expect(settings.length).toBeGreaterThan(30);
  const documented = text('docs/operations.md');
  expect(settings.filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
});

it('docs/security.md names tests that are there', () => {
  const named = [...text('docs/security.md').matchAll(/`(test\/[\w./-]+)`/g)].map((match) => match[1]!);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(join(REPOSITORY, path)))).toEqual([]);
});

it('docs/reliability.md has a drill for each of ten faults of operation, and each command is there', () => {
  const [, table = ''] = text('docs/reliability.md').split('## Drills of operation');
  const rows = [...table.split('\n## ')[0]!.matchAll(/^\| (\d+) \|.*\| `(.+)` \|$/gm)];
  expect(new Set(rows.map(([, point]) => Number(point)))).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
  const drills = readdirSync(join(REPOSITORY, 'test/drills')).map((file) => text(`test/drills/${file}`));
  const drilled = drills.flatMap((drill) =>
    [...drill.matchAll(/alerts: \[(.+)\]/g)].flatMap(([, alerts]) => alerts!.match(/\w+/g)),
  );
  for (const [row, , command] of rows) {
    const [, alerts] = /^npm run test:drills -- (.+)$/.exec(command!) ?? [];
    const [, file] = /^npx vitest run (.+)$/.exec(command!) ?? [];
    if (alerts !== undefined) expect(drilled).toEqual(expect.arrayContaining(alerts.split(' ')));
    else expect(file !== undefined && existsSync(join(REPOSITORY, file)), row).toBe(true);
    const named = [...row.matchAll(/`([A-Z][a-z]+[A-Z]\w+)`/g)].map(([, alert]) => alert);
    expect(alerts?.split(' ') ?? []).toEqual(named);
  }
});
