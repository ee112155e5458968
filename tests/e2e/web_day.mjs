// SPDX-License-Identifier: Apache-2.0
// A day of a person who has a browser and an access token, and nothing else.
//
// Usage: node web_day.mjs PLAYWRIGHT CHROMIUM URL TOKEN FOLDER
//
// Everything is found as a person finds it: by the words on the screen and by the names that a screen reader says. It is
// pressed with the mouse and the keyboard. FOLDER gets a picture of each step, and trace.zip for Playwright's trace viewer.
import { createRequire } from "node:module";
import { strict as assert } from "node:assert";

const [playwright, executablePath, url, token, folder] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwright);

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" });
const patience = Number(process.env.TARN_PATIENCE || 60) * 1000;
context.setDefaultTimeout(patience);
await context.tracing.start({ screenshots: true, snapshots: true, sources: true });
const page = await context.newPage();
const complaints = [], elsewhere = [];
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("console", (line) => { if (line.type() === "error" && !/status of 4|ERR_INTERNET_DISCONNECTED/.test(line.text())) complaints.push(line.text()); });
page.on("request", (request) => { if (!request.url().startsWith(url) && !request.url().startsWith("data:")) elsewhere.push(request.url()); });

let steps = 0;
async function picture(words) {
  await page.screenshot({ path: folder + "/" + String(++steps).padStart(2, "0") + "-" + words + ".png" });
  assert.doesNotMatch(await page.locator("body").innerText(), /\[object|undefined|NaN/, words);
}
const heading = (name) => page.getByRole("heading", { level: 1, name });
const menu = (name) => page.getByRole("navigation", { name: "Views" }).getByRole("link", { name, exact: true }).click();
const verdict = page.locator("#verdict");
const jobNumber = async () => { await page.waitForURL(/#\/job\/\d+$/); return page.url().split("/").pop(); };

async function logIn() {
  await page.goto(url);
  await page.getByLabel("Access token").fill("tarn_1_wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: /./ }).waitFor(); // it says what is wrong
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await heading("Overview").waitFor();
  await page.getByRole("status").filter({ hasText: "live" }).waitFor();
  await picture("overview");
}

// A mistake is said while it is typed; what the form changes is seen in the file beside it.
async function submitTraining() {
  await menu("Submit");
  await verdict.filter({ hasText: "Valid" }).waitFor();
  await page.getByLabel("Job file (YAML)").fill("name: train\nrun: echo epoch one; sleep 1000\ngpu: 4\nmax_duration: 1h\n");
  await verdict.filter({ hasText: "did you mean 'gpus'" }).waitFor();
  assert(await page.getByRole("button", { name: "Submit", exact: true }).isDisabled());
  await picture("a-mistake");
  await page.getByLabel("Job file (YAML)").fill("name: train\nrun: echo epoch one; sleep 1000\nmax_duration: 1h\n");
  await page.getByLabel("GPUs", { exact: true }).pressSequentially("4");
  await verdict.filter({ hasText: "Valid: job train" }).waitFor();
  assert.match(await page.getByLabel("Job file (YAML)").inputValue(), /gpus: 4/);
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  const number = await jobNumber();
  await page.getByText("epoch one", { exact: true }).waitFor(); // its output, live
  await picture("it-runs");
  return number;
}

async function submitAnother(first) {
  await menu("Submit");
  await verdict.filter({ hasText: "Valid" }).waitFor();
  await page.getByLabel("Job file (YAML)").fill("name: eval\nrun: sleep 1000\ngpus: 2\nmax_duration: 30m\n");
  await page.getByRole("heading", { name: "Expected start" }).waitFor();
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  const number = await jobNumber();
  await page.getByRole("heading", { name: "Why it waits" }).waitFor();
  await page.getByRole("main").getByRole("link", { name: first + " train" }).waitFor(); // who holds what it waits for
  await picture("why-it-waits");
  return number;
}

async function lookAhead() {
  await menu("Forecast");
  await page.getByText("1 running, 1 expected to start").waitFor();
  await picture("forecast");
  for (const name of ["Overview", "Jobs", "Pipelines", "Queues", "Money", "Admin"]) {
    await menu(name);
    await heading(name).waitFor();
  }
}

async function askWhatIf(first, second) {
  await menu("Jobs");
  await page.getByRole("row", { name: /eval/ }).getByRole("link", { name: second, exact: true }).click();
  await page.getByRole("link", { name: "What if a job in front of it were cancelled" }).click();
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.getByText("1 job starts sooner").waitFor();
  assert.equal(await page.locator("[name=cancel]").inputValue(), first);
  await picture("what-if");
}

// Without a network the page says so, and goes on by itself when it is back.
async function loseTheNetwork() {
  await menu("Jobs");
  await page.getByRole("row", { name: /train/ }).waitFor();
  await context.setOffline(true);
  await page.getByRole("status").filter({ hasText: "not connected" }).waitFor();
  await picture("no-network");
  await context.setOffline(false);
  await page.getByRole("status").filter({ hasText: "live" }).waitFor();
}

async function cancel(first, second) {
  await menu("Jobs");
  await page.getByRole("checkbox", { name: "choose job " + first, exact: true }).check();
  page.once("dialog", (dialog) => dialog.dismiss()); // not yet
  await page.getByRole("group", { name: "Actions on the chosen jobs" }).getByRole("button", { name: "cancel" }).click();
  assert.equal(await page.getByRole("row", { name: /train/ }).getByText("running").count(), 1);
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("group", { name: "Actions on the chosen jobs" }).getByRole("button", { name: "cancel" }).click();
  await page.getByRole("row", { name: /eval/ }).getByText("running").waitFor(); // it starts, and the list says so
  await picture("the-other-runs");
  await page.getByRole("link", { name: second, exact: true }).click();
  await heading(/running/).waitFor();
}

// On the way home, on a phone.
async function lookFromAPhone(second) {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.reload();
  await heading("Job " + second).waitFor();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert(width <= 390, "the page is " + width + " pixels wide on a phone of 390");
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("group", { name: "Actions" }).getByRole("button", { name: "cancel" }).click();
  await heading(/cancelled/).waitFor();
  await picture("cancelled-from-a-phone");
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });
}

async function readTheCost(first) {
  await page.goto(url + "/#/money?by=job&last=1d");
  const row = page.getByRole("row", { name: new RegExp(first + " train") });
  await row.waitFor();
  const cells = await row.getByRole("cell").allInnerTexts();
  assert(Number(cells[3]) > 0, "cost: " + cells.join(" | "));
  await picture("cost");
  await row.getByRole("link").click();
  await heading("Job " + first).waitFor();
  await page.getByRole("term").filter({ hasText: /^Cost$/ }).waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await heading("Log in").waitFor();
}

try {
  await logIn();
  const first = await submitTraining();
  const second = await submitAnother(first);
  await lookAhead();
  await askWhatIf(first, second);
  await loseTheNetwork();
  await cancel(first, second);
  await lookFromAPhone(second);
  await readTheCost(first);
  assert.deepEqual(complaints, []);
  assert.deepEqual(elsewhere, []);
  console.log(JSON.stringify({ first, second, steps }));
} catch (failure) {
  await page.screenshot({ path: folder + "/failed.png" }).catch(() => {});
  console.log((await page.locator("main").innerText().catch(() => "")).slice(0, 3000));
  throw failure;
} finally {
  await context.tracing.stop({ path: folder + "/trace.zip" });
  await browser.close();
}
