import { z } from 'zod';
import { surviveDrivers } from '../runtime/util/driver-failures.ts';
import type { Mode } from '../domain/values/ids.ts';
import type { SignerBootstrap, SignerStarted } from '../ports/signer/protocol.ts';
import { armCrashPoints } from '../runtime/util/crash-point.ts';
import { jsonLine, readJsonLines } from '../runtime/util/json-lines.ts';
import { openDoor } from './door.ts';
import { ApproversRefused } from './approvals/proof.ts';
import { AuditSigner } from './audit/signer.ts';
import { LedgerAccounts } from './journal/ledger-accounts.ts';
import { KeystoreRefused } from './keys/keystore.ts';
import { JournalBroken, lockJournals } from './journal/journal.ts';
import { payoutRulesSchema } from './policies/rules.schema.ts';
import { Outgoing } from './outgoing.ts';
import { SocketInUse, startSignerServer } from './server.ts';
import { InvalidMnemonic, Wallet } from './keys/wallet.ts';
import { readMnemonic } from './keys/wallet-source.ts';
import { must } from '../domain/values/must.ts';
import { codeOf } from '../runtime/util/code-of.ts';

/*
 * The signer: the only process that holds private keys. One line on standard input tells where its keys are. It reports
 * readiness on standard output, serves a Unix socket, and ends when standard input closes, so it never outlives its
 * parent, however that ended.
 */

const walletSource = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('mnemonic'), mnemonic: z.string().max(1024) }),
  z.strictObject({ kind: z.literal('keystore'), file: z.string().min(1), passphrase: z.string().min(1).max(1024) }),
  z.strictObject({ kind: z.literal('sandbox'), directory: z.string().min(1) }),
]);
const bootstrapSchema: z.ZodType<SignerBootstrap> = z.strictObject({
  socketPath: z.string().min(1),
  door: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('parent'), token: z.string().regex(/^[0-9a-f]{64}$/) }),
    z.strictObject({
      kind: z.literal('user'),
      secret: z.string().min(32).max(1024),
      acceptedRisks: z.array(z.strictObject({ name: z.string(), why: z.string() })),
    }),
  ]),
  wallets: z.strictObject({ live: walletSource.exactOptional(), test: walletSource.exactOptional() }),
  payouts: payoutRulesSchema.exactOptional(),
  audit: z.strictObject({ directory: z.string().min(1) }).exactOptional(),
  crashAt: z.string().min(1).exactOptional(),
});

/** Longest orderly shutdown of the parent after the terminal or the init system signalled the whole group. */
const GRACE_MS = 15_000;

function openWallets(sources: SignerBootstrap['wallets']): ReadonlyMap<Mode, Wallet> {
  const wallets = new Map<Mode, Wallet>();
  for (const mode of ['live', 'test'] as const) {
    const source = sources[mode];
    if (source) wallets.set(mode, new Wallet(readMnemonic(mode, source)));
  }
  if (wallets.size === 2 && must(wallets.get('live')).evmXpub === must(wallets.get('test')).evmXpub) {
    throw new KeystoreRefused(
      'live and test keys are the same: test mode must never touch addresses that hold real money',
    );
  }
  return wallets;
}

function say(line: SignerStarted): void {
  process.stdout.write(jsonLine(line));
}

async function start(value: unknown): Promise<void> {
  const bootstrap = bootstrapSchema.safeParse(value);
  if (!bootstrap.success)
    throw new KeystoreRefused(`the bootstrap line is malformed (${must(bootstrap.error.issues[0]).path.join('.')})`);
  const { socketPath, door, payouts, audit, crashAt } = bootstrap.data;
  if (crashAt !== undefined && Object.values(bootstrap.data.wallets).some((source) => source?.kind !== 'sandbox'))
    throw new KeystoreRefused('crashAt is only for sandbox wallets');
  armCrashPoints(crashAt ?? '');
  const wallets = openWallets(bootstrap.data.wallets);
  for (const directory of new Set([payouts?.journalDirectory, audit?.directory]))
    if (directory !== undefined) lockJournals(directory);
  const key = (wallets.get('live') ?? wallets.get('test'))?.auditKey;
  const auditSigner = audit && key ? AuditSigner.open(audit.directory, key) : null;
  const accounts = new LedgerAccounts(() => auditSigner?.anchors ?? []);
  await startSignerServer(socketPath, openDoor(door, { modes: [...wallets.keys()], pays: payouts !== undefined }), {
    wallets,
    outgoing: payouts ? new Outgoing(payouts, wallets, Date.now, tellWrong, accounts) : null,
    audit: auditSigner,
  });
}

/** Details of an invalid approval, which the parent logs. */
const tellWrong = (why: string): void => void process.stderr.write(jsonLine({ approvalRefused: why.slice(0, 200) }));

function giveUp(error: unknown): void {
  const known =
    error instanceof KeystoreRefused ||
    error instanceof InvalidMnemonic ||
    error instanceof JournalBroken ||
    error instanceof SocketInUse ||
    error instanceof ApproversRefused;
  const reason = known
    ? error.message
    : `unexpected ${error instanceof Error ? `${error.name} ${codeOf(error) ?? ''}` : 'failure'}`;
  say({ ready: false, reason: reason.trim() });
  process.exitCode = 1;
  process.stdin.destroy();
}

surviveDrivers(
  process,
  ({ name, message }) => process.stderr.write(jsonLine({ driverFailed: `${name}: ${message}`.slice(0, 200) })),
  (error) => {
    process.stderr.write(
      jsonLine({ failed: error instanceof Error ? `${error.name} ${codeOf(error) ?? ''}` : 'failure' }),
    );
    process.exit(1);
  },
);
process.umask(0o077);
// The parent decides when the signer ends. A signal to the whole group must not stop it before the parent's last
// request.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => setTimeout(() => process.exit(0), GRACE_MS).unref());
process.stdin.on('end', () => process.exit());
process.stdin.on('error', () => process.exit());

let hasBootstrapped = false;
readJsonLines(process.stdin, {
  onFault: () => giveUp(new KeystoreRefused('the bootstrap line is malformed')),
  onValue: (value) => {
    if (hasBootstrapped) return;
    hasBootstrapped = true;
    start(value).then(() => say({ ready: true }), giveUp);
  },
});
