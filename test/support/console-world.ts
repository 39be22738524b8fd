import { type Server, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import type { Grant } from '../../src/domain/events/person-events.ts';
import type { MerchantId } from '../../src/domain/values/ids.ts';
import { LiveReaders } from '../../src/console/live.ts';
import { RequestLog } from '../../src/features/shared/request-log.ts';
import { LANGUAGES } from '../../src/console/languages.ts';
import { createConsoleApp } from '../../src/console/server.ts';
import { consoleRoutes } from '../../src/console/routes.ts';
import { cookieName } from '../../src/console/guard.ts';
import type { ConsoleSso } from '../../src/console/pages/people/sso.ts';
import type { ConsoleDeps } from '../../src/console/deps.ts';
import type { ShownMerchant } from '../../src/console/visit.ts';
import { OnceNumbers } from '../../src/features/people/passkeys.ts';
import { PeopleDirectory } from '../../src/features/people/directory.ts';
import { People } from '../../src/features/people/people.ts';
import { createPersonHandler } from '../../src/features/shared/handlers/person-handler.ts';
import { nodeRandom } from '../../src/adapters/node/random.ts';
import { passkey } from './approvers.ts';
import { MemoryEventStore } from './memory-event-store.ts';
import { handlerDeps } from './handler-deps.ts';

export const RP_OF_CONSOLE = { rpId: 'console.example', origin: 'https://console.example' } as const;
export const SHOP: ShownMerchant = { id: 'mer_shop' as MerchantId, name: 'Shop', mode: 'live' };
export const OTHER_SHOP: ShownMerchant = { id: 'mer_other' as MerchantId, name: 'Other', mode: 'live' };

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

export interface TestPerson {
  readonly name: string;
  readonly personId: string;
  readonly key: ReturnType<typeof passkey>;
  /** What the browser's cookie holds. */
  token: string;
}

const NONE = { ok: true, value: { rows: [], pagination: { total: 0, has_more: false, next_cursor: null } } };
export const POLICY = {
  settlementCoin: 'USDT',
  networks: ['bsc'],
  tolerance: '0',
  sessionTtlSec: null,
  ethereumConfirmations: 12,
  ethereumFinalizedFrom: '10000',
};

/** A service that has nothing to show. */
const EMPTY = {
  records: {
    list: async () => NONE,
    sessionOfAddress: () => null,
  },
  webhooks: { list: async () => NONE },
  settings: { getMerchant: (id: string) => ({ id, name: id, keys: [], webhook: null, domains: [], policy: POLICY }) },
  streams: { 'ledger.export': async () => ({ chunks: [''] }) },
  exportEvents: () => [''],
  requestLog: new RequestLog(),
};

const addressesOf = (app: Express): readonly string[] =>
  app.router.stack.flatMap(({ route }) =>
    route ? route.stack.map(({ method }) => `${method.toUpperCase()} ${route.path}`) : [],
  );

/** Of a process with nothing to do. */
const SERVICE_STATUS = {
  ...{ ready: true, read_only: false, version: '1.2.3', up_seconds: 90, checks: [], look_ups: [] },
  webhooks: { waiting: 0, oldest_age_seconds: 0, in_flight: 0, retrying: 0, suspended_endpoints: 0 },
};

/** The console over an event log in memory, with people whose passkeys the test holds. */
export class ConsoleWorld {
  readonly store: MemoryEventStore;
  readonly warnings: object[] = [];
  nowMs = 1_800_000_000_000;
  readonly people: People;
  /** What the router answers, such as `GET /sign-in`. */
  readonly addresses: readonly string[];
  readonly #directory: PeopleDirectory;
  readonly #server: Server;

  private constructor(
    people: People,
    directory: PeopleDirectory,
    store: MemoryEventStore,
    clock: { nowMs: () => number },
    more: Partial<ConsoleDeps>,
    sso: ConsoleSso | null,
  ) {
    this.people = people;
    this.#directory = directory;
    this.store = store;
    const deps = {
      address: RP_OF_CONSOLE,
      people,
      merchants: () => [SHOP, OTHER_SHOP],
      ...EMPTY,
      ...more,
      commands: {
        'session.totals': async () => ({ totals: [] }),
        'service.status': async () => SERVICE_STATUS,
        ...more.commands,
      },
    };
    const app = createConsoleApp({
      ...{ address: RP_OF_CONSOLE, sandbox: false, people, clock, random: nodeRandom, sso },
      numbers: new OnceNumbers({ clock, random: nodeRandom }),
      log: {
        info: () => undefined,
        warn: (fields) => void this.warnings.push(fields),
        error: (fields) => void this.warnings.push(fields),
      },
      merchants: () => [SHOP, OTHER_SHOP],
      merchantOf: (id) => [SHOP, OTHER_SHOP].find((merchant) => merchant.id === id) ?? null,
      readOnly: () => null,
      routes: consoleRoutes(deps as unknown as ConsoleDeps),
      languages: LANGUAGES,
      live: new LiveReaders({ head: () => this.store.head() }),
    });
    this.addresses = addressesOf(app);
    this.#server = app.listen(0, '127.0.0.1');
  }

  static async start(more: Partial<ConsoleDeps> = {}, sso: ConsoleSso | null = null): Promise<ConsoleWorld> {
    const store = new MemoryEventStore();
    const time: { world: ConsoleWorld | null } = { world: null };
    const clock = { nowMs: () => time.world?.nowMs ?? 1_800_000_000_000 };
    const directory = new PeopleDirectory(store);
    await directory.start();
    const handler = createPersonHandler(handlerDeps(store, clock));
    const people = new People({ handler, directory, clock, random: nodeRandom, recoveryDelaySec: 86_400 });
    const world = new ConsoleWorld(people, directory, store, clock, more, sso);
    time.world = world;
    await new Promise<void>((done) => world.#server.once('listening', done));
    return world;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
    await this.#directory.close();
  }

  /** Somebody with these roles and a passkey, signed in. */
  person(name: string, ...grants: (Omit<Grant, 'merchantId' | 'untilSec'> & Partial<Grant>)[]): Promise<TestPerson> {
    return this.personBy('command line', name, ...grants);
  }

  /** The same, invited by somebody. */
  async personBy(
    by: string,
    name: string,
    ...grants: (Omit<Grant, 'merchantId' | 'untilSec'> & Partial<Grant>)[]
  ): Promise<TestPerson> {
    const whole = grants.map(({ role, merchantId = null, untilSec = null }) => ({ role, merchantId, untilSec }));
    const made = await this.people.invite(name, whole, { by, reason: 'test' });
    if (!made.ok) throw new Error(made.refusal.message);
    const key = passkey(name, 'P-256');
    const { credentialId, publicKey } = key.key as { credentialId: string; publicKey: string };
    const added = await this.people.addPasskey(made.value.personId, made.value.token, {
      credentialId,
      publicKey,
      label: 'test',
    });
    if (!added.ok) throw new Error(added.refusal.message);
    const person = { name, personId: made.value.personId, key, token: '' };
    person.token = await this.signIn(person);
    return person;
  }

  async signIn({ personId, key }: TestPerson): Promise<string> {
    const { credentialId } = key.key as { credentialId: string };
    const signed = await this.people.signIn(personId, { credentialId, signCount: 0 }, 'test');
    if (!signed.ok) throw new Error(signed.refusal.message);
    await this.people.directory.catchUp();
    return signed.value.token;
  }

  get(path: string, person: Pick<TestPerson, 'token'> | null, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send('GET', path, person, headers);
  }

  /** As the console's own form sends it; headers given replace its own. */
  async post(
    path: string,
    person: TestPerson,
    form: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const csrf = form['csrf'] ?? (await this.csrfOf(person));
    return this.send('POST', path, person, headers, new URLSearchParams({ ...form, csrf }).toString());
  }

  async csrfOf(person: TestPerson): Promise<string> {
    return /name="csrf" value="([^"]+)"/.exec((await this.get('/me', person)).body)?.[1] ?? '';
  }

  /** Sends the form, and then signs the terms that are shown, as the browser does. */
  async postSigned(
    path: string,
    person: TestPerson,
    form: Record<string, string>,
    signer: TestPerson = person,
  ): Promise<Answer> {
    const asked = await this.post(path, person, form);
    const terms = termsIn(asked.body);
    return terms === null ? asked : this.post(path, person, { ...form, ...signedForm(terms, signer) });
  }

  send(
    method: string,
    path: string,
    person: Pick<TestPerson, 'token'> | null,
    headers: Record<string, string>,
    body?: string,
  ): Promise<Answer> {
    const { port } = this.#server.address() as AddressInfo;
    const own = {
      host: 'console.example',
      ...(person && { cookie: `${cookieName(RP_OF_CONSOLE.origin)}=${person.token}` }),
      ...(body !== undefined && {
        ...{ origin: RP_OF_CONSOLE.origin, 'sec-fetch-site': 'same-origin' },
        ...{ 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(Buffer.byteLength(body)) },
      }),
      ...headers,
    };
    return new Promise((done, failed) => {
      const sent = request(
        {
          port,
          host: '127.0.0.1',
          method,
          path,
          headers: Object.fromEntries(Object.entries(own).filter(([, value]) => value !== '')),
        },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          answer.on('end', () => done({ status: answer.statusCode!, headers: answer.headers, body: text }));
        },
      );
      sent.on('error', failed).end(body);
    });
  }

  /** What is recorded of what people did, oldest first. */
  actions(): {
    readonly action: string;
    readonly outcome: string;
    readonly detail: string;
    readonly personId: string;
  }[] {
    return this.store.events
      .filter(({ type }) => type === 'ActionTaken')
      .map(({ data }) => JSON.parse(data) as ReturnType<ConsoleWorld['actions']>[number]);
  }
}

const UNESCAPED: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** The text that a page asks to be signed, with its number. */
export function termsIn(body: string): { readonly text: string; readonly number: string } | null {
  const text = /<pre class="terms" data-text[^>]*>(.*?)<\/pre>/s.exec(body)?.[1]?.replaceAll(/<\/?span>/g, '');
  const number = /name="number-0" value="([^"]+)"/.exec(body)?.[1];
  return text === undefined || number === undefined
    ? null
    : { text: text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (escape) => UNESCAPED[escape]!), number };
}

export function signedForm(
  terms: { readonly text: string; readonly number: string },
  signer: TestPerson,
  change: object = {},
): Record<string, string> {
  const proof = signer.key.assertion(terms.text, { ...RP_OF_CONSOLE, ...change });
  return { 'number-0': terms.number, 'response-0': JSON.stringify((proof as { response: object }).response) };
}
