import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mode } from '../../domain/values/ids.ts';
import { holding } from '../../domain/values/written-json.ts';
import type { Log } from '../../ports/log.ts';
import type { Signer } from '../../ports/signer/signer.ts';
import type {
  PayoutRules,
  SignerBootstrap,
  SignerGreeting,
  SignerStarted,
  WalletSource,
} from '../../ports/signer/protocol.ts';
import { jsonLine, readJsonLines } from '../../runtime/util/json-lines.ts';
import { signerCalls } from './signer-calls.ts';
import { connectTo, SignerConnection, SignerUnavailable, type SignerCaller } from './connection.ts';
import { must } from '../../domain/values/must.ts';
import { makeFolder } from '../../runtime/files/make-folder.ts';

const ENTRY = fileURLToPath(new URL('../../signer/main.ts', import.meta.url));
/** A debugger attached by a signal could read the keys; warnings would only repeat those of the main process. */
const NODE_FLAGS = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning'];
/** The environment that the signer receives: enough to run, nothing that could change what it runs. */
const PASSED_VARIABLES = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
/**
 * A compile cache halves the start-up time, but its code may come from someone else. Live keys are opened only by code
 * compiled from the sources.
 */
const PASSED_WITHOUT_LIVE_KEYS = ['NODE_COMPILE_CACHE'];
const SOCKET_NAME = 'signer.sock';
/** Longest path of a Unix socket on every supported system (macOS: 104 bytes with the final zero). */
const MAX_SOCKET_PATH_BYTES = 100;
const START_TIMEOUT_MS = 30_000;
const END_TIMEOUT_MS = 5_000;

export interface SignerProcessOptions {
  /** Directory for the socket. If its path is too long for a socket, a temporary one is used. */
  readonly directory: string;
  readonly wallets: { readonly [mode in Mode]?: WalletSource };
  /** Absent: the signer signs no payouts. */
  readonly payouts?: PayoutRules;
  /** Where it stores the checkpoints it signed, outside the data directory. Absent: it signs none. */
  readonly auditDirectory?: string;
  /** Crash point for tests; only signers of sandbox wallets accept it. */
  readonly crashAt?: string;
  readonly log: Log;
  /** Called once if the signer ends without being closed. Its keys are lost with it; only a restart restores them. */
  readonly onLost?: (reason: string) => void;
}

export interface SignerProcess extends Signer, SignerCaller {
  readonly pid: number;
}

/** A signer for a service that runs as another user. */
export interface ServingSigner {
  /** Resolves with the reason if it ends without being closed. */
  readonly lost: Promise<string>;
  close(): Promise<void>;
}

/**
 * Starts the signer as a child process and connects to it. Keys and token are passed through the inherited pipe, so
 * neither argv nor the child's environment contains them. Rejects with `SignerUnavailable` and the signer's own reason.
 */
export async function startSignerProcess(options: SignerProcessOptions): Promise<SignerProcess> {
  // Nothing below may retain `options`, whose secrets must not live as long as the signer.
  const { log, onLost } = options;
  const socketPath = socketIn(options.directory);
  const token = randomBytes(32).toString('hex');
  const { child, end } = await launch(options, { socketPath, door: { kind: 'parent', token } });
  try {
    const socket = await connectTo(socketPath);
    socket.write(jsonLine({ token } satisfies SignerGreeting));
    return handle(child, new SignerConnection(socket), end, log, onLost);
  } catch (error) {
    await end();
    throw error;
  }
}

/**
 * Starts the signer for a service that runs as another user and knows the secret. Rejects like `startSignerProcess`.
 */
export async function serveSigner(
  options: Omit<SignerProcessOptions, 'directory' | 'onLost' | 'crashAt'>,
  {
    socketPath,
    ...door
  }: Omit<Extract<SignerBootstrap['door'], { kind: 'user' }>, 'kind'> & Pick<SignerBootstrap, 'socketPath'>,
): Promise<ServingSigner> {
  const { child, end } = await launch(options, { socketPath, door: { kind: 'user', ...door } });
  let closing = false;
  const lost = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => closing || resolve(`the signer ended (${signal ?? `code ${code}`})`));
  });
  return {
    lost,
    close: async () => {
      closing = true;
      await end();
    },
  };
}

async function launch(
  { wallets, payouts, auditDirectory, crashAt, log }: Omit<SignerProcessOptions, 'directory'>,
  place: Pick<SignerBootstrap, 'socketPath' | 'door'>,
): Promise<{ child: ChildProcess; end: () => Promise<void> }> {
  const child = spawn(process.execPath, [...NODE_FLAGS, ENTRY], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: passedEnvironment(wallets),
  });
  let removeSocket = (): void => {};
  const end = (): Promise<void> => endChild(child).finally(() => removeSocket());
  try {
    child.stdin.on('error', () => {});
    child.stderr
      .setEncoding('utf8')
      .on('data', (text: string) => log.warn({ text: text.trimEnd() }, 'the signer wrote to its error output'));
    const audit = auditDirectory === undefined ? {} : { audit: { directory: auditDirectory } };
    child.stdin.write(
      jsonLine({
        ...place,
        wallets,
        ...(payouts && { payouts }),
        ...audit,
        ...(crashAt && { crashAt }),
      } satisfies SignerBootstrap),
    );
    await started(child);
    removeSocket = removalOf(place.socketPath);
    return { child, end };
  } catch (error) {
    await end();
    throw error;
  }
}

function handle(
  child: ChildProcess,
  connection: SignerConnection,
  end: () => Promise<void>,
  log: Log,
  onLost: SignerProcessOptions['onLost'],
): SignerProcess {
  let closing = false;
  child.once('exit', (code, signal) => {
    if (closing) return;
    const reason = `the signer ended (${signal ?? `code ${code}`})`;
    log.error({}, reason);
    onLost?.(reason);
  });
  return {
    pid: must(child.pid),
    call: (method, params) => connection.call(method, params),
    ...signerCalls(connection),
    close: async () => {
      closing = true;
      connection.close();
      await end();
    },
  };
}

function socketIn(directory: string): string {
  makeFolder(directory);
  const near = join(directory, SOCKET_NAME);
  if (Buffer.byteLength(near) <= MAX_SOCKET_PATH_BYTES) return near;
  // The folder stays behind, empty; the system clears what is temporary.
  return join(mkdtempSync(join(tmpdir(), 'quittance-')), SOCKET_NAME);
}

/** Removes the socket that is there now, never one that another signer puts in its place. */
function removalOf(socketPath: string): () => void {
  const identity = (): string | undefined => {
    const found = statSync(socketPath, { bigint: true, throwIfNoEntry: false });
    return found && `${found.dev} ${found.ino} ${found.birthtimeNs}`;
  };
  const made = identity();
  return () => {
    if (identity() === made) rmSync(socketPath, { force: true });
  };
}

function passedEnvironment(wallets: SignerProcessOptions['wallets']): Record<string, string> {
  const names = wallets.live === undefined ? [...PASSED_VARIABLES, ...PASSED_WITHOUT_LIVE_KEYS] : PASSED_VARIABLES;
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

const isStarted = holding<SignerStarted>('ready');

/** Waits for the signer's one line on standard output. */
function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new SignerUnavailable('the signer did not start in time')), START_TIMEOUT_MS);
    const settle = (reason: string | null): void => {
      clearTimeout(timer);
      if (reason === null) resolve();
      else reject(new SignerUnavailable(`the signer cannot start: ${reason}`));
    };
    child.once('error', (error) => settle(error.message));
    child.once('exit', (code, signal) => settle(`it ended (${signal ?? `code ${code}`})`));
    readJsonLines(must(child.stdout), {
      onFault: settle,
      onValue: (value) => {
        if (!isStarted(value)) settle('it wrote something else first');
        else settle(value.ready ? null : value.reason);
      },
    });
  });
}

/** Closing standard input tells the signer to end; one that ignores it is killed. */
async function endChild(child: ChildProcess): Promise<void> {
  child.stdin?.end();
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const timer = setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT_MS);
  await once(child, 'exit');
  clearTimeout(timer);
}
