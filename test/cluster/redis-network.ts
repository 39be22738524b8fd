import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import type { ServerPlace } from '../support/redis-server.ts';

/** How a node of the cluster reaches Redis, and how it is cut off: what is sent goes nowhere, and nothing says so. */
export interface RedisLink {
  readonly url: string;
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

/**
 * A network namespace of its own for Redis, with a pair of virtual network devices for each link (Linux, root): a link
 * that is taken down loses what is sent over it, as a broken network does. The first link is the tests' own.
 */
export class RedisNetwork {
  readonly place: ServerPlace;
  readonly #name: string;
  readonly #subnet: number;
  #links = 0;

  private constructor(subnet: number) {
    this.#subnet = subnet;
    this.#name = `quittance-redis-${subnet}`;
    ip('netns', 'add', this.#name);
    process.once('exit', this.#remove);
    this.place = { host: this.#add().host, command: ['ip', 'netns', 'exec', this.#name] };
  }

  /** Null where the machine does not let us have one, and why. */
  static create(): RedisNetwork | { readonly reason: string } {
    try {
      return new RedisNetwork(randomInt(64, 250));
    } catch (error) {
      return { reason: (error as Error).message };
    }
  }

  link(port: number): RedisLink {
    const { host, device } = this.#add();
    const set = (state: 'up' | 'down'): void => this.#inside('link', 'set', device, state);
    return {
      url: `redis://${host}:${port}`,
      cut: () => set('down'),
      mend: () => set('up'),
      close: () => Promise.resolve(),
    };
  }

  close(): void {
    process.removeListener('exit', this.#remove);
    this.#remove();
  }

  #add(): { readonly host: string; readonly device: string } {
    this.#links += 1;
    const [outer, device] = [`q${this.#subnet}o${this.#links}`, `q${this.#subnet}i${this.#links}`];
    const addressOf = (end: 1 | 2): string => `10.${this.#subnet}.${this.#links}.${end}`;
    ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', device, 'netns', this.#name);
    ip('address', 'add', `${addressOf(1)}/30`, 'dev', outer);
    ip('link', 'set', outer, 'up');
    this.#inside('address', 'add', `${addressOf(2)}/30`, 'dev', device);
    this.#inside('link', 'set', device, 'up');
    return { host: addressOf(2), device };
  }

  #inside(...args: string[]): void {
    ip('-netns', this.#name, ...args);
  }

  /** The devices go with their namespace. */
  readonly #remove = (): void => void spawnSync('ip', ['netns', 'delete', this.#name]);
}

function ip(...args: string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
}
