import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;

/** Writes a file with one of Java's two HTTP clients, which know nothing of tokens: java Put.java old|new FILE URL. */
public class Put {
    public static void main(String[] args) throws Exception {
        Path file = Path.of(args[1]);
        int status;
        if (args[0].equals("old")) {
            HttpURLConnection c = (HttpURLConnection) URI.create(args[2]).toURL().openConnection();
            c.setRequestMethod("PUT");
            c.setDoOutput(true);
            c.setChunkedStreamingMode(0);
            try (OutputStream out = c.getOutputStream()) {
                Files.copy(file, out);
            }
            status = c.getResponseCode();
        } else {
            HttpRequest r = HttpRequest.newBuilder(URI.create(args[2])).PUT(HttpRequest.BodyPublishers.ofFile(file)).build();
            status = HttpClient.newHttpClient().send(r, HttpResponse.BodyHandlers.discarding()).statusCode();
        }
        System.out.println(status);
        System.exit(status / 100 == 2 ? 0 : 1);
    }
}
