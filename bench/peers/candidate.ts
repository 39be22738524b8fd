import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export interface Round {
  readonly appendsPerSec: number;
  readonly latenciesMs: readonly number[];
}

interface Answer {
  readonly ready?: true;
  readonly fault?: string;
  readonly tookMs?: number;
  readonly latenciesMs?: readonly number[];
}

/** One store in a process of its own, asked for rounds of appends. */
export class Candidate {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly rounds: Round[] = [];

  private constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.#child = child;
  }

  static async start(name: string, script: string, argument: string): Promise<Candidate> {
    const child = fork(script, [argument], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [] });
    const candidate = new Candidate(name, child);
    if ((await candidate.#answer()).ready !== true) throw new Error(`${name} did not start`);
    return candidate;
  }

  async round(appends: number, callers: number, counts: boolean): Promise<void> {
    this.#child.send({ appends, callers });
    const { fault, tookMs, latenciesMs } = await this.#answer();
    if (fault !== undefined || tookMs === undefined) throw new Error(`${this.name}: ${fault ?? 'no answer'}`);
    if (counts) this.rounds.push({ appendsPerSec: (appends * 1000) / tookMs, latenciesMs: latenciesMs ?? [] });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    if (this.#child.connected) this.#child.send({ appends: 0, callers: 0 });
    else this.#child.kill();
    await ended;
    clearTimeout(timer);
  }

  async #answer(): Promise<Answer> {
    const [answer] = (await Promise.race([
      once(this.#child, 'message'),
      once(this.#child, 'exit').then(() => [{ fault: 'the process ended' }]),
    ])) as [Answer];
    return answer;
  }
}
