import type { Operation } from '../operation.ts';

/** A request as a standalone program, in the form of `x-codeSamples` in OpenAPI documents. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

interface Sampled {
  readonly method: string;
  readonly url: string;
  /** Null: the request has no body. */
  readonly body: string | null;
  readonly headerPrefix: string;
}

const EXAMPLE_IDS: readonly (readonly [part: string, id: string])[] = [
  ['/sessions/', 'cs_k7w2q5m4n6p3r7s2t5v4x6y3z7a2b5c4'],
  ['/refunds/', 're_k7w2q5m4n6p3r7s2t5v4x6y3z7'],
  ['/endpoints/', 'we_k7w2q5m4n6p3r7s2t5v4'],
  ['/deliveries/', 'evt_1767225660123456789'],
  ['/events/', 'evt_1767225660123456789'],
  ['/requests/', 'req_k7w2q5m4n6p3r000001'],
];
/** Shortens the sample of a list, or supplies a required parameter. */
const EXAMPLE_QUERIES: Readonly<Record<string, string>> = {
  listPaymentSessions: '?page_size=5',
  getConsistencyProof: '?from=1&to=2',
};

/** The operation's example in the usual languages of shops. Key and secret come from the environment. */
export function codeSamples(
  operation: Operation,
  options: { readonly serverUrl: string; readonly headerPrefix: string },
): CodeSample[] {
  const id = EXAMPLE_IDS.find(([part]) => operation.path.includes(part))?.[1] ?? 'ID';
  const path = operation.path.replaceAll(/\{\w+\}/g, id) + (EXAMPLE_QUERIES[operation.id] ?? '');
  const { body } = operation.example;
  const sampled = {
    method: operation.method.toUpperCase(),
    url: options.serverUrl + path,
    body: body === undefined ? null : JSON.stringify(body),
    headerPrefix: options.headerPrefix,
  };
  return [
    { lang: 'Shell', label: 'curl', source: curl(sampled) },
    { lang: 'JavaScript', label: 'JavaScript', source: javascript(sampled) },
    { lang: 'Python', label: 'Python', source: python(sampled) },
    { lang: 'PHP', label: 'PHP', source: php(sampled) },
    { lang: 'Go', label: 'Go', source: go(sampled) },
  ];
}

/** In single quotes that JavaScript, Python and PHP understand. */
const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function curl({ method, url, body, headerPrefix }: Sampled): string {
  return `body='${(body ?? '').replaceAll("'", `'\\''`)}'
timestamp=$(date +%s)
nonce=$(openssl rand -hex 16)
signature=$(printf '%s' "$timestamp.$nonce.$body" | openssl dgst -sha256 -hmac "$QUITTANCE_API_SECRET" -r | cut -d' ' -f1)

curl -sS -X ${method} '${url}' \\
  -H "Authorization: Bearer $QUITTANCE_API_KEY" \\
  -H "${headerPrefix}Timestamp: $timestamp" \\
  -H "${headerPrefix}Nonce: $nonce" \\
  -H "${headerPrefix}Signature: $signature"${body === null ? '' : ` \\\n  -H 'Content-Type: application/json' \\\n  --data-raw "$body"`}
`;
}

function javascript({ method, url, body, headerPrefix }: Sampled): string {
  return `import { createHmac, randomUUID } from 'node:crypto';

const body = ${quoted(body ?? '')};
const timestamp = String(Math.floor(Date.now() / 1000));
const nonce = randomUUID();
const signature = createHmac('sha256', process.env.QUITTANCE_API_SECRET).update(\`\${timestamp}.\${nonce}.\${body}\`).digest('hex');

const response = await fetch('${url}', {
  method: '${method}',
  headers: {
    Authorization: \`Bearer \${process.env.QUITTANCE_API_KEY}\`,
    '${headerPrefix}Timestamp': timestamp,
    '${headerPrefix}Nonce': nonce,
    '${headerPrefix}Signature': signature,${body === null ? '' : `\n    'Content-Type': 'application/json',`}
  },${body === null ? '' : '\n  body,'}
});
console.log(await response.text());
`;
}

function python({ method, url, body, headerPrefix }: Sampled): string {
  return `import hashlib
import hmac
import os
import time
import urllib.error
import urllib.request
import uuid

body = ${quoted(body ?? '')}
timestamp, nonce = str(int(time.time())), str(uuid.uuid4())
signed = f"{timestamp}.{nonce}.{body}".encode("utf-8")
signature = hmac.new(os.environ["QUITTANCE_API_SECRET"].encode("utf-8"), signed, hashlib.sha256).hexdigest()

request = urllib.request.Request(
    "${url}",
    method="${method}",${body === null ? '' : '\n    data=body.encode("utf-8"),'}
    headers={
        "Authorization": "Bearer " + os.environ["QUITTANCE_API_KEY"],
        "${headerPrefix}Timestamp": timestamp,
        "${headerPrefix}Nonce": nonce,
        "${headerPrefix}Signature": signature,${body === null ? '' : '\n        "Content-Type": "application/json",'}
    },
)
try:
    with urllib.request.urlopen(request, timeout=30) as response:
        print(response.read().decode("utf-8"))
except urllib.error.HTTPError as error:
    print(error.read().decode("utf-8"))
`;
}

function php({ method, url, body, headerPrefix }: Sampled): string {
  return `<?php

$body = ${quoted(body ?? '')};
$timestamp = (string) time();
$nonce = bin2hex(random_bytes(16));
$signature = hash_hmac('sha256', "$timestamp.$nonce.$body", getenv('QUITTANCE_API_SECRET'));

$context = stream_context_create(['http' => [
    'method' => '${method}',
    'header' => [
        'Authorization: Bearer ' . getenv('QUITTANCE_API_KEY'),
        "${headerPrefix}Timestamp: $timestamp",
        "${headerPrefix}Nonce: $nonce",
        "${headerPrefix}Signature: $signature",${body === null ? '' : "\n        'Content-Type: application/json',"}
    ],${body === null ? '' : "\n    'content' => $body,"}
    'ignore_errors' => true,
    'timeout' => 30,
]]);
echo file_get_contents('${url}', false, $context), "\\n";
`;
}

function go({ method, url, body, headerPrefix }: Sampled): string {
  return `package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	body := ${body?.includes('`') ? JSON.stringify(body) : `\`${body ?? ''}\``}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	nonce := hex.EncodeToString(random)
	mac := hmac.New(sha256.New, []byte(os.Getenv("QUITTANCE_API_SECRET")))
	mac.Write([]byte(timestamp + "." + nonce + "." + body))

	request, err := http.NewRequest("${method}", "${url}", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("QUITTANCE_API_KEY"))
	request.Header.Set("${headerPrefix}Timestamp", timestamp)
	request.Header.Set("${headerPrefix}Nonce", nonce)
	request.Header.Set("${headerPrefix}Signature", hex.EncodeToString(mac.Sum(nil)))${body === null ? '' : '\n	request.Header.Set("Content-Type", "application/json")'}
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(answer))
}
`;
}
