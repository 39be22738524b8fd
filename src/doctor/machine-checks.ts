import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { totalmem } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { Config } from '../config.ts';
import { journalDirectory } from '../settings/journal-directory.ts';
import { fault, ok, warning, type Finding } from './finding.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { must } from '../domain/values/must.ts';
import { codeOf } from '../runtime/util/code-of.ts';

const LOW_BYTES = 5e9;
const NO_SPACE_BYTES = 5e8;
const LEAST_MEMORY_BYTES = 1e9;
const SLOW_SYNC_MS = 30;
const SYNCS = 7;
/** Files, sockets to stores and providers, and a reserve. */
const OTHER_DESCRIPTORS = 500;

/** Disk, memory and descriptors of this machine for these settings. */
export function machineFindings(config: Config): Finding[] {
  return [...directoryFindings(config), ...journalFindings(config), memoryFinding(), ...descriptorFindings(config)];
}

function directoryFindings({ DATA_DIR: directory }: Config): Finding[] {
  try {
    accessSync(existing(directory), constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return [
      fault(
        'data-dir',
        `DATA_DIR cannot be used: ${messageOf(error)}`,
        "give it to the service's user (chown), or choose another one",
      ),
    ];
  }
  if (!existsSync(directory))
    return [ok('data-dir', `${directory} will be created`), spaceFinding(existing(directory))];
  const open = statSync(directory).mode & 0o077;
  return [
    open === 0
      ? ok('data-dir', directory)
      : warning(
          'data-dir',
          `other users can enter ${directory}, which contains personal data`,
          `chmod 700 ${directory}`,
        ),
    ...copyFindings(directory),
    spaceFinding(directory),
    syncFinding(directory),
  ];
}

/** The directory, or its nearest existing parent. */
const existing = (directory: string): string => (existsSync(directory) ? directory : existing(dirname(directory)));

function copyFindings(directory: string): Finding[] {
  if (existsSync(join(directory, 'moved.json')))
    return [
      fault(
        'data-dir',
        'its event log was moved to a cluster (moved.json): the service does not start on it',
        'set EVENTSTORE_URL and REDIS_URL',
      ),
    ];
  if (existsSync(join(directory, 'backup.json')))
    return [
      warning(
        'data-dir',
        'it is a restored copy (backup.json): addresses that may have been assigned since are skipped',
        'continue as described in the runbook under Restore',
      ),
    ];
  return [];
}

function spaceFinding(directory: string): Finding {
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  const text = `${(free / 1e9).toFixed(1)} GB free`;
  if (free < NO_SPACE_BYTES) return fault('disk-space', text, 'free some space: at zero nothing is accepted any more');
  return free < LOW_BYTES
    ? warning('disk-space', text, 'enlarge the file system before payments fill it')
    : ok('disk-space', text);
}

/** Every response waits for a sync of the event log. */
function syncFinding(directory: string): Finding {
  const file = join(directory, `.doctor-${process.pid}`);
  try {
    const descriptor = openSync(file, 'w', 0o600);
    const page = Buffer.alloc(4096);
    const times = Array.from({ length: SYNCS }, () => {
      const startedMs = performance.now();
      writeSync(descriptor, page);
      fsyncSync(descriptor);
      return performance.now() - startedMs;
    }).toSorted((one, other) => one - other);
    closeSync(descriptor);
    const middle = must(times[Math.floor(SYNCS / 2)]);
    const text = `a sync takes ${middle.toFixed(1)} ms`;
    return middle > SLOW_SYNC_MS
      ? warning('disk-sync', text, 'put DATA_DIR on a disk of the machine, not on a network')
      : ok('disk-sync', text);
  } catch (error) {
    return fault('disk-sync', `DATA_DIR cannot be written: ${messageOf(error)}`, 'repair the disk, or free some space');
  } finally {
    rmSync(file, { force: true });
  }
}

function journalFindings(config: Config): Finding[] {
  const directory = journalDirectory(config);
  if (!relative(config.DATA_DIR, directory).startsWith('..'))
    return [
      fault(
        'journal',
        `SIGNER_JOURNAL_DIR ${directory} is inside DATA_DIR: a restored backup would also restore it`,
        'choose a directory outside it',
      ),
    ];
  try {
    accessSync(existing(directory), constants.R_OK | constants.W_OK | constants.X_OK);
    return [ok('journal', directory)];
  } catch (error) {
    return [
      fault(
        'journal',
        `the journal's directory cannot be used: ${messageOf(error)}`,
        'set SIGNER_JOURNAL_DIR to one that this user can write',
      ),
    ];
  }
}

function memoryFinding(): Finding {
  const constrained = process.constrainedMemory();
  const bytes = Math.min(totalmem(), constrained > 0 ? constrained : Infinity);
  const text = `${(bytes / 1e9).toFixed(1)} GB of memory`;
  return bytes < LEAST_MEMORY_BYTES
    ? warning('memory', text, 'give the service 1 GB or more: otherwise the kernel kills it')
    : ok('memory', text);
}

function descriptorFindings({ MAX_CONNECTIONS: connections }: Config): Finding[] {
  const limit = descriptorLimit();
  if (limit === null) return [];
  const text = `${limit} file descriptors for up to ${connections} connections`;
  return limit < connections + OTHER_DESCRIPTORS
    ? [
        warning(
          'descriptors',
          text,
          `raise LimitNOFILE to ${connections + OTHER_DESCRIPTORS} or more, or lower MAX_CONNECTIONS`,
        ),
      ]
    : [ok('descriptors', text)];
}

function descriptorLimit(): number | null {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return found ? Number(found[1]) : null;
  } catch {
    return null;
  }
}

/** Whether the ports can be listened on; checked only while no service with these settings runs. */
export async function portFindings(config: Config): Promise<Finding[]> {
  const ports = [config.PORT, config.OPS_PORT, config.ADMIN_PORT, config.CONSOLE_PORT].filter(
    (port) => port !== undefined && port !== 0,
  );
  const findings = await Promise.all([...new Set(ports)].map((port) => portFinding(config.HOST, must(port))));
  return findings.flatMap((finding) => finding ?? []);
}

async function portFinding(host: string, port: number): Promise<Finding | null> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
    return null;
  } catch (error) {
    return fault(
      'ports',
      `${host}:${port} cannot be listened on: ${codeOf(error) ?? 'unknown'}`,
      'stop what uses it, or choose another port',
    );
  } finally {
    server.close();
  }
}
