import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Candidate } from './peers/candidate.ts';
import { postgresPrograms, startPostgres, type Postgres } from './peers/postgresql.ts';
import { writeSection } from './report.ts';
import { median, percentile, renderSection, type BenchSection } from './section.ts';

/*
 * `npm run bench:peers`: our embedded store against the two stores of Emmett, with 32 callers. The peers' packages are
 * installed in a temporary folder, never in the product. They fall behind far enough that each gets its own number of
 * appends a round; the rate is what is compared.
 */

const CALLERS = 32;
const ROUNDS = 5;
const PEERS = join(import.meta.dirname, 'peers');

/** The newest versions whose own peer requirements can be met side by side (Emmett pins its core exactly). */
const PACKAGES = {
  'emmett-sqlite': ['@event-driven-io/emmett@0.38.5', '@event-driven-io/emmett-sqlite@0.38.5', 'sqlite3@5.1.7'],
  'emmett-postgresql': ['@event-driven-io/emmett@0.42.0', '@event-driven-io/emmett-postgresql@0.42.0'],
} as const;
type Peer = keyof typeof PACKAGES;

const APPENDS = { quittance: 12_800, 'emmett-sqlite': 200, 'emmett-postgresql': 1_600 };

/** On a disk: the usual temporary folder may be memory, where a sync costs nothing. */
const ROOT = existsSync('/var/tmp') ? '/var/tmp' : tmpdir();

function install(folder: string, peer: Peer): string {
  const home = join(folder, peer);
  mkdirSync(home);
  writeFileSync(
    join(home, 'package.json'),
    JSON.stringify({ name: 'peer', private: true, type: 'module', allowScripts: { sqlite3: true } }),
  );
  for (const file of ['runner.mjs', `${peer}.mjs`]) copyFileSync(join(PEERS, file), join(home, file));
  console.log(`installing ${PACKAGES[peer].join(', ')}`);
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...PACKAGES[peer]], {
    cwd: home,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return join(home, `${peer}.mjs`);
}

/** Rounds alternate, the first one only warms up. */
async function compare(candidates: readonly Candidate[]): Promise<void> {
  for (let round = -1; round < ROUNDS; round++) {
    for (const candidate of candidates)
      await candidate.round(APPENDS[candidate.name as keyof typeof APPENDS], CALLERS, round >= 0);
  }
}

function sectionOf(
  candidates: readonly Candidate[],
  skipped: readonly string[],
  postgres: Postgres | null,
): BenchSection {
  const rate = (candidate: Candidate): number => median(candidate.rounds.map((round) => round.appendsPerSec));
  const ours = rate(candidates.find((candidate) => candidate.name === 'quittance')!);
  const rows = candidates.map((candidate) => {
    const latencies = candidate.rounds.flatMap((round) => round.latenciesMs);
    const ratio = candidate.name === 'quittance' ? '1' : `${(ours / rate(candidate)).toFixed(1)} x slower`;
    return [
      candidate.name,
      Math.round(rate(candidate)),
      percentile(latencies, 0.5).toFixed(2),
      percentile(latencies, 0.99).toFixed(2),
      ratio,
    ];
  });
  const versions = Object.values(PACKAGES)
    .flat()
    .filter((name) => !name.includes('emmett@'));
  return {
    title: 'Appends against peers',
    intro: `Durable appends per second, every append a new stream that must not exist, ${CALLERS} callers. ${ROUNDS} alternating rounds, median. ${versions.join(', ')}${postgres ? `, ${postgres.version} as shipped` : ''}.`,
    columns: ['store', 'appends/s', 'p50 ms', 'p99 ms', 'against ours'],
    rows,
    notes: [
      'Latencies of emmett-sqlite include the wait for its turn: its calls share a connection and fail when they overlap.',
      ...skipped,
    ],
    sources: ['runner.mjs', 'quittance-store.ts', 'emmett-sqlite.mjs', 'emmett-postgresql.mjs'].map((file) => ({
      caption: file,
      code: readFileSync(join(PEERS, file), 'utf8'),
    })),
  };
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(ROOT, 'quittance-peers-'));
  // PostgreSQL's user has to reach its own folder in it.
  chmodSync(folder, 0o755);
  const candidates: Candidate[] = [];
  const skipped: string[] = [];
  let postgres: Postgres | null = null;
  try {
    const programs = postgresPrograms();
    if (programs === null)
      skipped.push('emmett-postgresql was skipped: no PostgreSQL here (Debian: `apt-get install postgresql`).');
    const sqlite = install(folder, 'emmett-sqlite');
    candidates.push(await Candidate.start('quittance', join(PEERS, 'quittance-store.ts'), join(folder, 'quittance')));
    candidates.push(await Candidate.start('emmett-sqlite', sqlite, join(folder, 'emmett.db')));
    if (programs !== null) {
      const script = install(folder, 'emmett-postgresql');
      postgres = await startPostgres(programs, folder);
      candidates.push(await Candidate.start('emmett-postgresql', script, postgres.url));
    }
    await compare(candidates);
    const text = renderSection(sectionOf(candidates, skipped, postgres));
    console.log(text.replace(/<details>[\s\S]*/, ''));
    writeSection('peers', text);
  } finally {
    for (const candidate of candidates) await candidate.stop();
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
