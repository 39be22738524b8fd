import type { JsonValue } from '../ports/read-model.ts';
import type { VerifiedFiles, VerifyOptions } from './audit.ts';
import type { AdminArguments, AdminStream } from '../operator/commands.ts';

/** An approver's key, opened on this machine. */
export interface OpenKey {
  readonly name: string;
  /** Base64url. */
  readonly sign: (text: string) => string;
}

/** One line of a diagnosis: what was looked at, how it is, why, and what to do. */
export interface DoctorLine {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault' | 'skipped';
  readonly why: string;
  readonly action: string;
}

/** What the commands need from the composition root. */
export interface CliHost {
  startSandbox(): Promise<void>;
  /** One of the processes that a sandbox is spread over; the file says what they share. */
  startSandboxNode(file: string): Promise<void>;
  serve(): Promise<void>;
  /** Looks at everything that the service of this environment relies on. */
  doctor(): Promise<readonly DoctorLine[]>;
  /** The signer as a service of its own, with its settings in the file. */
  runSigner(file: string): Promise<void>;
  /** Forwards the events of a merchant until a signal ends it. */
  listen(options: {
    readonly forwardTo: string;
    readonly events?: string;
    readonly credentials?: string;
  }): Promise<void>;
  /** The latest requests of a merchant, or the one that is named. */
  requests(
    id: string | undefined,
    filters: { readonly status?: string; readonly limit: string },
    credentials: string | undefined,
  ): Promise<JsonValue>;
  /** Lets a case happen to a new session of the sandbox. */
  trigger(kind: string, network: string, credentials: string | undefined): Promise<JsonValue>;
  /** Copies the ledger of a stopped embedded service into EventStoreDB and proves the copy equal. */
  migrate(options: { readonly from: string; readonly to: string | undefined }): Promise<JsonValue>;
  /** Makes the look-ups of this build beside running nodes and puts a snapshot of them where nodes begin with it. */
  prepareLookUps(): Promise<JsonValue>;
  /** Writes the ledger as the audit export; to standard output without a file. Works beside a running service. */
  exportLedger(file: string | undefined): Promise<number>;
  /**
   * Writes the books as a SQLite file, made from the event log; answers how many events that were. Works beside a
   * running service.
   */
  exportBooks(file: string): Promise<number>;
  /**
   * Writes what is recorded of a session or a range of time into a file, with what a log says of it. Works beside a
   * running service.
   */
  exportIncident(subject: string, output: string, logs: string | undefined): Promise<JsonValue>;
  /** Opens such a file. `differs`: this program decides otherwise than was recorded. */
  openIncident(
    file: string,
    options: { readonly session?: string; readonly whatIf?: readonly string[] },
  ): Promise<{ readonly text: string; readonly json: JsonValue; readonly differs: boolean }>;
  /** Verifies an export or a proof, from the files alone. */
  verifyFiles(options: VerifyOptions): Promise<VerifiedFiles>;
  /** Runs an operator's command in the running service, or on the opened store when none runs. */
  admin(command: string, args: AdminArguments): Promise<JsonValue>;
  /** Opens the key file of an approver. */
  openApproverKey(args: AdminArguments): Promise<OpenKey>;
  /** The same for an answer too long to be held. */
  adminStream(command: string, args: AdminArguments): Promise<AdminStream>;
}

export interface HowToAnswer {
  /** Writes the answer for people. */
  readonly show?: (value: JsonValue) => string;
  /** Whether the command found something wrong: it ends with exit code 1. */
  readonly isFault?: (value: JsonValue) => boolean;
}
