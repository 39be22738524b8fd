import type { CanaryFailure, CanaryStepTime } from '../canary.ts';
import type { Mode, SessionId } from '../values/ids.ts';
import type { Coin } from '../money/money.ts';
import type { AddressFamily, Network } from '../networks/networks.ts';

/* The storage format of the smaller streams, used for operations. */

/**
 * `addresses-<mode>-<family>`: a node's own range of derivation indexes, both ends inclusive, leased before any of it
 * is used.
 */
export interface AddressRangeLeased {
  readonly type: 'AddressRangeLeased';
  readonly data: {
    readonly mode: Mode;
    readonly family: AddressFamily;
    readonly from: number;
    readonly to: number;
    readonly node: string;
  };
}

/**
 * `address-source-<mode>-<family>`: a node without the signer declares what it derives addresses from and asks the
 * signer whether it owns them.
 */
export interface AddressSourceDeclared {
  readonly type: 'AddressSourceDeclared';
  readonly data: {
    readonly mode: Mode;
    readonly family: AddressFamily;
    /** See `AddressSource`. */
    readonly fingerprint: string;
    readonly keys: number | null;
    readonly node: string;
  };
}

/** In the same stream: the signer's answer. The latest answer about a source counts. */
export interface AddressSourceJudged {
  readonly type: 'AddressSourceJudged';
  readonly data: {
    readonly mode: Mode;
    readonly family: AddressFamily;
    readonly fingerprint: string;
    readonly isOwn: boolean;
  };
}

/**
 * `coverage-<mode>-<network>`: evidence that a provider read these blocks; both ends inclusive. In
 * `rescans-<mode>-<network>`: blocks that an operator had read again.
 */
export interface RangeScanned {
  readonly type: 'RangeScanned';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly fromBlock: number;
    readonly toBlock: number;
    readonly toBlockHash: string;
    readonly toBlockTimeSec: number;
    readonly providers: readonly string[];
    readonly transfersSeen: number;
    /** Where a chain is read account by account: the progress of the sweeps over addresses of ended sessions. */
    readonly sweeps?: SweepMarks;
  };
}

/**
 * A sweep over the addresses of ended sessions: addresses whose turn (`turnOf`) is over were read at or after its
 * start, the others at or after the start of the previous sweep.
 */
export interface SweepMark {
  readonly startedSec: number;
  /** Null before the second sweep. */
  readonly previousSec: number | null;
  /** Completed turns. */
  readonly turns: number;
}

/** `recent`: ended within a day. Null before the first turn. */
export interface SweepMarks {
  readonly recent: SweepMark | null;
  readonly old: SweepMark | null;
}

/**
 * A local chain was restarted from scratch: facts of the old one are marked "previous chain", never treated as a reorg.
 */
export interface ChainReplaced {
  readonly type: 'ChainReplaced';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly oldGenesis: string;
    readonly newGenesis: string;
  };
}

/** `idempotency-<mode>-<merchant>-<hash of key>`: appended with `NoStream` before the command it protects. */
export interface RequestAccepted {
  readonly type: 'RequestAccepted';
  readonly data: {
    readonly requestHash: string;
    readonly operation: string;
    readonly givenId: string;
    readonly acceptedAtSec: number;
  };
}

/**
 * In the same stream, for commands that leave no other trace. Null: refused, nothing was done. The latest one counts.
 */
export interface RequestAnswered {
  readonly type: 'RequestAnswered';
  readonly data: { readonly answer: string | null; readonly answeredAtSec: number };
}

/** `audit`: a signed tree head in C2SP checkpoint form. */
export interface CheckpointSigned {
  readonly type: 'CheckpointSigned';
  readonly data: {
    readonly origin: string;
    readonly size: number;
    readonly rootHash: string;
    readonly checkpoint: string;
    /** In that day's store; `size` means the same in every store. */
    readonly throughPosition: string;
  };
}

/** `ledger-periods-<mode>`: a closed month, whose figures are fixed. */
export interface PeriodClosed {
  readonly type: 'PeriodClosed';
  readonly data: {
    readonly mode: Mode;
    readonly period: string;
    /**
     * Id of the event behind the last entry counted. A store's own position would mean something else after a
     * migration.
     */
    readonly throughPosition: string;
    readonly balances: Readonly<Record<string, string>>;
    readonly actor: string;
  };
}

/**
 * `secrets-<purpose>`: a secret shared by all nodes, generated once and sealed under the master key; old versions are
 * kept.
 */
export interface SecretGenerated {
  readonly type: 'SecretGenerated';
  readonly data: { readonly purpose: string; readonly secretVersion: number; readonly sealedSecret: string };
}

/** The operator act that makes the personal data of a session permanently unreadable. */
export const SESSION_FORGET = 'session.forget';

/**
 * `operator-acts`: an operator's act that leaves no other event: who, on what and when, never the previous contents.
 */
export interface OperatorActed {
  readonly type: 'OperatorActed';
  readonly data: {
    /** Name of the command. */
    readonly act: string;
    /** The subject, such as the session whose personal data was erased; null when there is none. */
    readonly subject: string | null;
    readonly actor: string;
    readonly actedAtSec: number;
  };
}

/**
 * `operator-acts`: the event log was restored from a backup; whatever followed the last event before this one is lost.
 */
export interface EventLogRestored {
  readonly type: 'EventLogRestored';
  readonly data: {
    readonly backupMadeAtSec: number;
    /** Number of events in the backup. */
    readonly events: number;
    /** Null for an empty event log. */
    readonly lastEventAtSec: number | null;
    /** Number of events signed, when the signer remembers more than there are: at least the difference is lost. */
    readonly signedEvents: number | null;
    /**
     * Payments that the signer signed and this event log does not know; null when that cannot be told, for example
     * because the signer's journal comes from the same backup.
     */
    readonly unknownPayments:
      | readonly { readonly mode: Mode; readonly network: Network; readonly id: string; readonly txHash: string }[]
      | null;
    readonly addresses: readonly {
      readonly mode: Mode;
      readonly family: AddressFamily;
      /** No session in the event log has an address from this index on ... */
      readonly unusedFrom: number;
      /** ... and no index from here on was leased, as far as the event log and the signer know. */
      readonly leasedBelow: number;
      /** Whether the signer remembered its progress: otherwise more may have been leased. */
      readonly isKnown: boolean;
    }[];
    readonly actor: string;
    readonly restoredAtSec: number;
  };
}

/**
 * `canary-<mode>-<network>`: a payment from ourselves to ourselves, recorded before the money leaves the canary's
 * wallet.
 */
export interface CanaryPaymentStarted {
  readonly type: 'CanaryPaymentStarted';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly coin: Coin;
    readonly amount: string;
    readonly sessionId: SessionId;
    readonly startedAtSec: number;
  };
}

/** In the same stream: the outcome. `sessionId` is null when not even a session was created. */
export interface CanaryPaymentEnded {
  readonly type: 'CanaryPaymentEnded';
  readonly data: {
    readonly mode: Mode;
    readonly network: Network;
    readonly sessionId: SessionId | null;
    readonly startedAtSec: number;
    /** The steps that were reached, in order. */
    readonly steps: readonly CanaryStepTime[];
    /** Null when the money made the round trip. */
    readonly failure: CanaryFailure | null;
    readonly endedAtSec: number;
  };
}

export type OperationsEvent =
  | SecretGenerated
  | AddressRangeLeased
  | AddressSourceDeclared
  | AddressSourceJudged
  | RangeScanned
  | ChainReplaced
  | RequestAccepted
  | RequestAnswered
  | CheckpointSigned
  | PeriodClosed
  | OperatorActed
  | EventLogRestored
  | CanaryPaymentStarted
  | CanaryPaymentEnded;
