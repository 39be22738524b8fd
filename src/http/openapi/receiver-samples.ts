import type { CodeSample } from './code-samples.ts';

/* Written with the default header prefix. */

/** A complete webhook receiver using only the standard library, in the usual languages of shops. */
export function receiverSamples(headerPrefix: string): CodeSample[] {
  return [
    {
      lang: 'JavaScript',
      label: 'JavaScript',
      source: JAVASCRIPT.replaceAll('x-service-', headerPrefix.toLowerCase()),
    },
    { lang: 'Python', label: 'Python', source: PYTHON.replaceAll('X-Service-', headerPrefix) },
    {
      lang: 'PHP',
      label: 'PHP',
      source: PHP.replaceAll('HTTP_X_SERVICE_', `HTTP_${headerPrefix.toUpperCase().replaceAll('-', '_')}`),
    },
    { lang: 'Go', label: 'Go', source: GO.replaceAll('X-Service-', headerPrefix) },
  ];
}

const JAVASCRIPT = `import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const MAX_BODY_BYTES = 256 * 1024;
const secret = process.env.QUITTANCE_WEBHOOK_SECRET?.trim();
// Without a secret anybody could sign.
if (!secret) throw new Error('QUITTANCE_WEBHOOK_SECRET is not set');
// In your shop: a table, written in one transaction with what the event changes.
const handled = new Set();

function isGenuine(headers, body) {
  const timestamp = headers['x-service-timestamp'] ?? '';
  if (!/^\\d{1,12}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const signed = Buffer.concat([Buffer.from(\`\${timestamp}.\${headers['x-service-nonce']}.\`), body]);
  const expected = createHmac('sha256', secret).update(signed).digest();
  return [headers['x-service-signature'], headers['x-service-signature-next']].some((given) => {
    const bytes = Buffer.from(given ?? '', 'hex');
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  });
}

function handle(event) {
  const { order_id } = event.data.object;
  if (event.type === 'payment.completed') console.log(\`paid: \${order_id}\`);
}

async function bodyOf(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

createServer(async (request, response) => {
  const answer = (status, body) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  try {
    const body = await bodyOf(request);
    if (!isGenuine(request.headers, body)) return answer(401, { error: 'invalid signature' });
    const event = JSON.parse(body);
    if (!handled.has(event.id)) {
      handle(event);
      handled.add(event.id);
    }
    answer(200, { received: true });
  } catch (error) {
    // One request that breaks off must not end the receiver.
    console.error(error);
    if (!response.headersSent) answer(500, { error: 'the event could not be handled' });
  }
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
`;

const PYTHON = `import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("QUITTANCE_WEBHOOK_SECRET", "").strip().encode("utf-8")
# Without a secret anybody could sign.
if not SECRET:
    raise SystemExit("QUITTANCE_WEBHOOK_SECRET is not set")
# In your shop: a table, written in one transaction with what the event changes.
handled = set()


def is_genuine(headers, body):
    timestamp = headers.get("X-Service-Timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{timestamp}.{headers.get('X-Service-Nonce', '')}.".encode("utf-8") + body
    expected = hmac.new(SECRET, signed, hashlib.sha256).hexdigest().encode("ascii")
    given = [headers.get("X-Service-Signature", ""), headers.get("X-Service-Signature-Next", "")]
    return any(hmac.compare_digest(expected, one.encode("utf-8")) for one in given)


def handle(event):
    if event["type"] == "payment.completed":
        print("paid: " + event["data"]["object"]["order_id"], flush=True)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not is_genuine(self.headers, body):
            return self.answer(401, {"error": "invalid signature"})
        event = json.loads(body)
        if event["id"] not in handled:
            handle(event)
            handled.add(event["id"])
        self.answer(200, {"received": True})

    def answer(self, status, body):
        text = json.dumps(body).encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 3000))), Receiver).serve_forever()
`;

const PHP = `<?php

// To try it: php -S 127.0.0.1:3000 webhook.php

function is_genuine(string $body, string $secret): bool
{
    $timestamp = $_SERVER['HTTP_X_SERVICE_TIMESTAMP'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $expected = hash_hmac('sha256', $timestamp . '.' . ($_SERVER['HTTP_X_SERVICE_NONCE'] ?? '') . '.' . $body, $secret);
    return hash_equals($expected, $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '')
        || hash_equals($expected, $_SERVER['HTTP_X_SERVICE_SIGNATURE_NEXT'] ?? '');
}

function handle(array $event): void
{
    if ($event['type'] === 'payment.completed') {
        error_log('paid: ' . $event['data']['object']['order_id']);
    }
}

function answer(int $status, array $body): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($body);
}

$secret = trim((string) getenv('QUITTANCE_WEBHOOK_SECRET'));
// Without a secret anybody could sign.
if ($secret === '') {
    error_log('QUITTANCE_WEBHOOK_SECRET is not set');
    answer(500, ['error' => 'the receiver has no secret']);
    return;
}
$body = file_get_contents('php://input');
if (!is_genuine($body, $secret)) {
    answer(401, ['error' => 'invalid signature']);
    return;
}
$event = json_decode($body, true);
// In your shop: a table, written in one transaction with what the event changes.
$handled = (getenv('HANDLED_DIR') ?: sys_get_temp_dir()) . '/quittance-' . basename($event['id']);
if (!file_exists($handled)) {
    handle($event);
    touch($handled);
}
answer(200, ['received' => true]);
`;

const GO = `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type event struct {
	ID   string
	Type string
	Data struct {
		Object struct {
			OrderID string \`json:"order_id"\`
		}
	}
}

// In your shop: a table, written in one transaction with what the event changes.
var (
	lock    sync.Mutex
	handled = map[string]bool{}
)

var secret = strings.TrimSpace(os.Getenv("QUITTANCE_WEBHOOK_SECRET"))

func isGenuine(headers http.Header, body []byte) bool {
	timestamp := headers.Get("X-Service-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Now().Unix() - seconds; err != nil || age > 300 || age < -300 {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "." + headers.Get("X-Service-Nonce") + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	for _, name := range []string{"X-Service-Signature", "X-Service-Signature-Next"} {
		if given, err := hex.DecodeString(headers.Get(name)); err == nil && hmac.Equal(given, expected) {
			return true
		}
	}
	return false
}

func handle(received event) {
	if received.Type == "payment.completed" {
		fmt.Println("paid: " + received.Data.Object.OrderID)
	}
}

func receive(response http.ResponseWriter, request *http.Request) {
	answer := func(status int, body string) {
		response.Header().Set("Content-Type", "application/json")
		response.WriteHeader(status)
		io.WriteString(response, body)
	}
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, 256*1024))
	if err != nil || !isGenuine(request.Header, body) {
		answer(401, \`{"error":"invalid signature"}\`)
		return
	}
	var received event
	if err := json.Unmarshal(body, &received); err != nil {
		answer(500, \`{"error":"the event could not be read"}\`)
		return
	}
	lock.Lock()
	defer lock.Unlock()
	if !handled[received.ID] {
		handle(received)
		handled[received.ID] = true
	}
	answer(200, \`{"received":true}\`)
}

func main() {
	// Without a secret anybody could sign.
	if secret == "" {
		fmt.Fprintln(os.Stderr, "QUITTANCE_WEBHOOK_SECRET is not set")
		os.Exit(1)
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	if err := http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(receive)); err != nil {
		panic(err)
	}
}
`;
