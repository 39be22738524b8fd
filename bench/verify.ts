import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { sessionStream } from '../src/domain/values/streams.ts';
import { checkpointText, noteOf, verifierKeyText } from '../src/runtime/merkle/checkpoint-note.ts';
import { MerkleFrontier } from '../src/runtime/merkle/frontier.ts';
import { leafHash } from '../src/runtime/merkle/tree.ts';
import { AuditKey } from '../src/signer/audit/key.ts';
import { auditLine } from '../src/features/audit/lines.ts';
import { encoded, sessionOf } from './ledger.ts';
import type { BenchSection } from './section.ts';

/*
 * What an auditor does with an export: `quittance audit verify`, which replays every stream and adds the books up, and
 * the second verifier. In processes of their own, so that their processor time and memory are theirs alone.
 */

const EVENTS = Number(process.env['BENCH_VERIFY_EVENTS'] ?? 200_000);
const EVENTS_PER_SESSION = 4;
const ROOT = resolve(import.meta.dirname, '..');

interface Files {
  readonly ledger: string;
  readonly checkpoint: string;
  readonly key: string;
}

export function writeExport(folder: string): Files {
  const files = {
    ledger: join(folder, 'ledger.jsonl'),
    checkpoint: join(folder, 'checkpoint.txt'),
    key: join(folder, 'key.txt'),
  };
  const tree = new MerkleFrontier();
  const out = openSync(files.ledger, 'w');
  for (let index = 0; tree.size < EVENTS; index += 1) {
    const { id, atSec, events } = sessionOf(index);
    const stream = sessionStream(id);
    let text = '';
    for (const [revision, event] of encoded(stream, atSec, events).entries()) {
      tree.append(leafHash(Buffer.from(event.hash, 'hex')));
      text += `${auditLine({ ...event, stream, revision, position: String(tree.size) }, tree.size)}\n`;
    }
    writeSync(out, text);
  }
  closeSync(out);
  const key = new AuditKey(Buffer.alloc(64, 7));
  const text = checkpointText({ origin: key.verifierKey.name, size: tree.size, root: tree.root() });
  writeFileSync(files.checkpoint, noteOf(text, key.verifierKey, key.sign(text)));
  writeFileSync(files.key, verifierKeyText(key.verifierKey));
  return files;
}

interface Measured {
  readonly cpuSec: number;
  readonly peakMiB: number;
}

/**
 * `/usr/bin/time` is not everywhere: Python's standard library measures the child, and runs the second verifier anyway.
 */
const MEASURE = `
import json, resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"code": code, "cpuSec": usage.ru_utime + usage.ru_stime, "peakMiB": usage.ru_maxrss / 1024}))
`;

function measured(command: readonly string[]): Measured {
  const { stdout, stderr, error } = spawnSync('python3', ['-c', MEASURE, ...command], { cwd: ROOT, encoding: 'utf8' });
  if (error) throw error;
  const { code, ...usage } = JSON.parse(stdout) as Measured & { readonly code: number };
  if (code !== 0) throw new Error(`${command.join(' ')}: ${stderr}`);
  return usage;
}

export function benchVerify(): BenchSection {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-verify-'));
  try {
    const { ledger, checkpoint, key } = writeExport(folder);
    const given = ['--export', ledger, '--checkpoint', checkpoint, '--key', key];
    const ours = measured([process.execPath, join(ROOT, 'bin/quittance.mjs'), 'audit', 'verify', ...given]);
    const second = measured(['python3', join(ROOT, 'docs/verify/verify.py'), ...given]);
    const row = (what: string, { cpuSec, peakMiB }: Measured): (string | number)[] => [
      what,
      `${cpuSec.toFixed(1)} s`,
      `${Math.round(EVENTS / cpuSec).toLocaleString('en-US')}/s`,
      `${Math.round(peakMiB)} MiB`,
    ];
    return {
      title: 'Verifying an export',
      intro: `An audit export of ${EVENTS.toLocaleString('en-US')} events in ${Math.ceil(EVENTS / EVENTS_PER_SESSION).toLocaleString('en-US')} streams (${Math.round(statSync(ledger).size / 2 ** 20)} MiB) under one checkpoint. Processor time of each process, all its threads.`,
      columns: ['verifier', 'processor time', 'events', 'peak memory'],
      rows: [
        row('`quittance audit verify`: hashes, tree, life cycles, books', ours),
        row('`docs/verify/verify.py`: hashes, tree', second),
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
