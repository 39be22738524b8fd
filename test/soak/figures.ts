import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A process of the installation, as Linux shows it. */
export interface ProcessFigures {
  readonly memoryMb: number;
  readonly handles: number;
  readonly threads: number;
  /** Seconds of processor time so far. */
  readonly cpuSec: number;
}

const PAGE_BYTES = 4_096;
const TICKS_A_SECOND = 100;

/** Processes below `ancestor`, shells aside, whose command line holds a text; Linux only. */
export function processesOf(ancestor: number, text: string): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = fieldsOf(Number(name))?.[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at))
      if (at === ancestor) return true;
    return false;
  };
  return [...parents.keys()].filter((pid) => {
    const command = commandOf(pid);
    return isBelow(pid) && command.includes(text) && !command.startsWith('/bin/sh') && !command.startsWith('sh ');
  });
}

/** Null when it has ended. */
export function figuresOf(pid: number): ProcessFigures | null {
  const fields = fieldsOf(pid);
  if (fields === null) return null;
  try {
    return {
      memoryMb: (Number(fields[21]) * PAGE_BYTES) / 2 ** 20,
      handles: readdirSync(`/proc/${pid}/fd`).length,
      threads: Number(fields[17]),
      cpuSec: (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND,
    };
  } catch {
    return null;
  }
}

/** What follows the name in `/proc/PID/stat` (proc_pid_stat(5)), from the state on. */
function fieldsOf(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** Files in a directory and all below, and their bytes. */
export function directoryFigures(directory: string): { readonly files: number; readonly bytes: number } {
  let [files, bytes] = [0, 0];
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const size = statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size;
    if (size === undefined) continue;
    files += 1;
    bytes += size;
  }
  return { files, bytes };
}

/** The largest value of each metric, whatever its labels. */
export async function largestMetrics(opsUrl: string): Promise<ReadonlyMap<string, number>> {
  const text = await fetch(`${opsUrl}/metrics`, { signal: AbortSignal.timeout(10_000) }).then((response) =>
    response.text(),
  );
  const largest = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^(\w+)(?:\{.*\})? (\S+)$/.exec(line) ?? [];
    if (name !== undefined && Number.isFinite(Number(value)))
      largest.set(name, Math.max(largest.get(name) ?? -Infinity, Number(value)));
  }
  return largest;
}
