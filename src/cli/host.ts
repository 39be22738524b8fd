import type { JsonValue } from '../ports/read-model/read-model.ts';
import type { VerifiedFiles, VerifyOptions } from './audit.ts';
import type { AdminArguments, AdminStream } from '../operator/server/commands.ts';

/** An approver's key, opened on this machine. */
export interface OpenKey {
  readonly name: string;
  /** Base64url. */
  readonly sign: (text: string) => string;
}

/** One line of a diagnosis: the check, its result, the reason, and what to do. */
export interface DoctorLine {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault' | 'skipped';
  readonly why: string;
  readonly action: string;
}

/** What the commands need from the composition root. */
export interface CliHost {
  startSandbox(): Promise<void>;
  /** One of the processes that share a sandbox; the file describes what they share. */
  startSandboxNode(file: string): Promise<void>;
  serve(): Promise<void>;
  /** Checks everything that the service relies on in this environment. */
  doctor(): Promise<readonly DoctorLine[]>;
  /** The signer as a separate service, with its settings in the file. */
  runSigner(file: string): Promise<void>;
  /** Forwards the events of a merchant until a signal ends it. */
  listen(options: {
    readonly forwardTo: string;
    readonly events?: string;
    readonly credentials?: string;
  }): Promise<void>;
  /** A merchant's latest requests, or the one that is named. */
  requests(
    id: string | undefined,
    filters: { readonly status?: string; readonly limit: string },
    credentials: string | undefined,
  ): Promise<JsonValue>;
  /** Makes a case happen to a new session of the sandbox. */
  trigger(kind: string, network: string, credentials: string | undefined): Promise<JsonValue>;
  /** Copies the event log of a stopped embedded service into EventStoreDB and proves that the copy is equal. */
  migrate(options: { readonly from: string; readonly to: string | undefined }): Promise<JsonValue>;
  /** Builds this build's look-ups alongside running nodes and stores a snapshot of them where nodes start from it. */
  prepareLookUps(): Promise<JsonValue>;
  /** Writes the event log as an audit export; to standard output without a file. Works alongside a running service. */
  exportEventLog(file: string | undefined): Promise<number>;
  /**
   * Writes the books as a SQLite file, derived from the event log; returns the number of events. Works alongside a
   * running service.
   */
  exportBooks(file: string): Promise<number>;
  /** Verifies an export or a proof from the files alone. */
  verifyFiles(options: VerifyOptions): Promise<VerifiedFiles>;
  /** Runs an operator's command in the running service, or on the opened store when none runs. */
  admin(command: string, args: AdminArguments): Promise<JsonValue>;
  /** What a person types at the terminal; null without one. */
  ask(question: string): Promise<string | null>;
  /** Opens the key file of an approver. */
  openApproverKey(args: AdminArguments): Promise<OpenKey>;
  /** Like `admin`, for an answer too long to hold in memory. */
  adminStream(command: string, args: AdminArguments): Promise<AdminStream>;
}

export interface HowToAnswer {
  /** Formats the answer for people. */
  readonly show?: (value: JsonValue) => string;
  /** Whether the command found a fault: it then exits with code 1. */
  readonly isFault?: (value: JsonValue) => boolean;
}
