import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/running-sandbox.ts';
import type { DrillFacts, DrillNodeSettings } from './drill-node.ts';

const ENTRY = join(import.meta.dirname, 'drill-node.ts');
const START_MS = 90_000;

/** The service of the drill in a process that may be stopped, starved and killed. */
export class NodeProcess {
  readonly #env: Readonly<Record<string, string>>;
  readonly dataDir: string;
  #child: ChildProcess | null = null;
  #facts: DrillFacts | null = null;

  constructor(dataDir: string, env: Readonly<Record<string, string>>) {
    this.dataDir = dataDir;
    this.#env = env;
  }

  get facts(): DrillFacts {
    if (this.#facts === null) throw new Error('the node was not started');
    return this.#facts;
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  get output(): string {
    return readFileSync(`${this.dataDir}.log`, 'utf8');
  }

  /** Resolves when it accepts requests. */
  async start(settings: DrillNodeSettings): Promise<void> {
    const file = join(this.dataDir, 'drill.json');
    rmSync(file, { force: true });
    const log = openSync(`${this.dataDir}.log`, 'a');
    const env = { ...process.env, ...this.#env, DATA_DIR: this.dataDir, DRILL_NODE: JSON.stringify(settings) };
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ENTRY], {
      env,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    // Also when the drills are given up in the middle of a start.
    process.once('exit', () => child.kill('SIGKILL'));
    await eventually(
      'the start of the node',
      async () => {
        if (hasEnded(child)) throw new Error(`the node ended:\n${this.output.slice(-4_000)}`);
        return existsSync(file);
      },
      START_MS,
    );
    this.#facts = JSON.parse(readFileSync(file, 'utf8')) as DrillFacts;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#child && !hasEnded(this.#child)) this.#child.kill(signal);
  }

  /** Resolves when the process is gone. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (!child || hasEnded(child)) return;
    const gone = new Promise((done) => child.once('exit', done));
    child.kill('SIGCONT');
    child.kill(signal);
    await gone;
  }
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;
